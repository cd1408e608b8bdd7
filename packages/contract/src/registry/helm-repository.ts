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
    description: Type.Optional(about('What it is for. Absent: empty.', Type.String())),
    url: about('The address of the repository.', Type.String()),
    skip_tls_verification: about('Whether its certificate is not checked.', Type.Boolean()),
    associated_services_count: about('How many Helm charts use it.', Type.Integer()),
    config: ShownCredentials,
  }),
  'A repository of charts, with credentials.',
);

const HelmRepositoryRequest = Named(
  'HelmRepositoryRequest',
  Type.Object({
    name: about('The name, unique in the organization.', Name),
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
    Returns the kinds of repositories that can be created, each with the members of \`config\` that a request of this
    kind needs.
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
    Returns the repositories, oldest first, with their credentials but without secrets, and with the number of
    charts that use each.
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
    Stores address and credentials of a repository, encrypted: one over HTTPS with an \`index.yaml\`, or an OCI
    registry. Helm charts then name it. Nothing is fetched yet.
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
    Returns address and credentials of the repository, without secrets. Those are replaced by an edit of the
    repository, and never shown.
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
    Changes the repository. Members of \`config\` that you leave out stay, unless kind or url changes: secrets of one
    host are not sent to another. Helm charts use it from their next deployment on.
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
    Deletes a repository that no Helm chart uses, with its credentials. Charts in it stay.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | Helm charts use it; the message names them. | Give them another repository. |
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
    Returns the Helm charts that come from it, with project and environment. While there are any, the repository
    cannot be deleted.
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
    Asks the repository for its charts with their versions, or for the versions of \`chartName\`. OCI registries need
    \`chartName\`.
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
