import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Optionals, Text, Uuid, Words, Named } from '../shape.ts';
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
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    name: Type.String(),
    kind: Words(helmRepositoryKinds),
    description: Type.Optional(Type.String()),
    url: Type.String(),
    skip_tls_verification: Type.Boolean(),
    associated_services_count: Type.Integer(),
    config: ShownCredentials,
  }),
);

const HelmRepositoryRequest = Named(
  'HelmRepositoryRequest',
  Type.Object({
    name: Name,
    kind: Words(helmRepositoryKinds),
    description: Type.Optional(Nullable(Text)),
    url: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
    skip_tls_verification: Type.Boolean(),
    config: Named('HelmRepositoryCredentials', Optionals(credentialFields)),
  }),
);

export const listAvailableHelmRepository = operation({
  id: 'listAvailableHelmRepository',
  method: 'GET',
  path: '/availableHelmRepository',
  tag,
  summary: 'List the kinds of Helm repositories and the members of `config` that each needs',
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
  summary: 'List the Helm repositories of an organization, without their secrets',
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
  summary: 'Create a Helm repository: one over HTTPS with an index.yaml, or an OCI registry',
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
  summary: 'Read a Helm repository, without its secrets',
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
  summary: 'Edit a Helm repository; omitted members of `config` stay unless kind or url changes',
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
  summary: 'Delete a Helm repository that no service uses',
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
  summary: 'List the charts of the repository with their versions, or the versions of one chart (`chartName`)',
  scope: 'READ',
  target: 'organization',
  query: Optionals({ chartName: Type.String({ maxLength: 255 }) }),
  status: 200,
  response: List(Named('HelmChart', Optionals({ chart_name: Type.String(), versions: Type.Array(Type.String()) }))),
  errors: [400, 424],
});
