import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Optionals, Text, Uuid, Words } from '../shape.ts';
import { AssociatedServices } from '../shared/associated-services.ts';
import { helmRepositoryKinds } from '../shared/words.ts';
import { AvailableKinds } from './available-kinds.ts';
import { credentialFields, ShownCredentials } from './credentials.ts';

const tag = 'Helm repository';
const path = '/organization/{organizationId}/helmRepository';
const onePath = `${path}/{helmRepositoryId}` as const;

const HelmRepository = Named(
  'HelmRepository',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    name: about('The name of the repository.', Type.String()),
    kind: Words(helmRepositoryKinds),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    url: about('The address of the repository.', Type.String()),
    skip_tls_verification: about('Whether its certificate is not checked.', Type.Boolean()),
    associated_services_count: about('How many services use it.', Type.Integer()),
    config: ShownCredentials,
  }),
  'A repository of charts, with credentials.',
);

const HelmRepositoryRequest = Named(
  'HelmRepositoryRequest',
  Type.Object({
    name: about('Its name, unique in the organization without regard to case.', Name),
    kind: about('The kind, which determines `config`.', Words(helmRepositoryKinds)),
    description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
    url: Type.Optional(about('The address: https, or oci for the other kinds.', Nullable(Type.String({ maxLength: 2000 })))),
    skip_tls_verification: about('Accept any certificate; anybody in between can then change charts.', Type.Boolean()),
    config: about(
      'Credentials; the kind says which members it needs. Secrets are never shown.',
      Named('HelmRepositoryCredentials', Optionals(credentialFields), 'Credentials for a repository.'),
    ),
  }),
  'A repository to create, or its new fields.',
);

export const listAvailableHelmRepository = operation({
  id: 'listAvailableHelmRepository',
  method: 'GET',
  path: '/availableHelmRepository',
  tag,
  summary: 'List the kinds of Helm repositories',
  description: `
    Returns the kinds of repositories that can be created, each with the members of \`config\` that a request of this kind
    needs.
  `,
  scope: 'READ',
  target: 'instance',
  status: 200,
  response: AvailableKinds('AvailableHelmRepository', helmRepositoryKinds),
  errors: [],
});

export const listHelmRepository = operation({
  id: 'listHelmRepository',
  method: 'GET',
  path,
  tag,
  summary: 'List the Helm repositories of an organization',
  description: `
    Returns the repositories, oldest first, with the number of services that use each. Secrets of their credentials are never
    shown.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(HelmRepository),
  errors: [],
});

export const createHelmRepository = operation({
  id: 'createHelmRepository',
  method: 'POST',
  path,
  tag,
  summary: 'Create a Helm repository',
  description: `
    Stores the address and the credentials of a repository: one over HTTPS with an \`index.yaml\`, or an OCI registry. Secrets
    are encrypted. Helm services then name it. It is not contacted: \`getHelmCharts\` tries the credentials.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A repository has the name; case does not matter. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'organization',
  body: HelmRepositoryRequest,
  status: 201,
  response: HelmRepository,
  errors: [400, 409],
});

export const getHelmRepository = operation({
  id: 'getHelmRepository',
  method: 'GET',
  path: onePath,
  tag,
  summary: 'Read a Helm repository',
  description: `
    Returns the address and the credentials of the repository, and the number of services that use it. Secrets are never
    shown.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: HelmRepository,
  errors: [],
});

export const editHelmRepository = operation({
  id: 'editHelmRepository',
  method: 'PUT',
  path: onePath,
  tag,
  summary: 'Edit a Helm repository',
  description: `
    Changes the repository. Members of \`config\` that you leave out or send empty stay, null removes them. If the kind or the
    URL changes, send all of them again: secrets of one host are not sent to another. If you switch
    \`skip_tls_verification\` on, send the secrets again. Services use the new credentials from their next deployment on.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A repository has the name; case does not matter. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'organization',
  body: HelmRepositoryRequest,
  status: 200,
  response: HelmRepository,
  errors: [400, 409],
});

export const deleteHelmRepository = operation({
  id: 'deleteHelmRepository',
  method: 'DELETE',
  path: onePath,
  tag,
  summary: 'Delete a Helm repository',
  description: `
    Deletes the record of a repository that no service uses, with its credentials. The repository itself and its charts stay.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | Services use it; the message names them. | Give them another repository. |
  `,
  scope: 'WRITE',
  target: 'organization',
  status: 204,
  response: null,
  errors: [409],
});

export const getHelmRepositoryAssociatedServices = operation({
  id: 'getHelmRepositoryAssociatedServices',
  method: 'GET',
  path: `${onePath}/associatedServices`,
  tag,
  summary: 'List the services that use a Helm repository',
  description: `
    Returns the Helm services whose chart comes from the repository, oldest first, with project and environment. A repository
    that a service uses cannot be deleted.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: AssociatedServices('HelmRepositoryService', ['HELM']),
  errors: [],
});

export const getHelmCharts = operation({
  id: 'getHelmCharts',
  method: 'GET',
  path: `${onePath}/charts`,
  tag,
  summary: 'List the charts of a Helm repository',
  description: `
    Asks the repository for its charts with their versions, or only for those of \`chartName\`. 

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NOT_SUPPORTED\` (400) | An OCI registry does not list its charts, or is an ECR. | Send \`chartName\`. |
    | \`REMOTE_UNREACHABLE\` (424) | The repository does not answer. | Check its URL. |
    | \`REMOTE_REFUSED\` (424) | It refuses the credentials. | Edit them. |
    | \`REMOTE_NOT_UNDERSTOOD\` (424) | It answers like no repository. | Check its URL. |
  `,
  scope: 'READ',
  target: 'organization',
  query: Optionals({ chartName: about('The chart whose versions to list.', Type.String({ maxLength: 255 })) }),
  status: 200,
  response: List(
    Named(
      'HelmChart',
      Optionals({
        chart_name: about('The name of the chart.', Type.String()),
        versions: about('Its versions, newest first.', Type.Array(Type.String())),
      }),
      'A chart of a repository, with its versions.',
    ),
  ),
  errors: [400, 424],
});
