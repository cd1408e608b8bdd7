import Type from 'typebox';
import { operation } from '../operation.ts';
import { Uuid, Named } from '../shape.ts';
import { GitRepositoryRequest } from '../service/parts.ts';

const tag = 'Environment';
const at = '/environment/{environmentId}' as const;
const path = Type.String({ minLength: 1, maxLength: 1000 });

export const checkDockerfile = operation({
  id: 'checkDockerfile',
  method: 'POST',
  path: `${at}/checkDockerfile`,
  tag,
  summary: 'Check a Dockerfile in a git repository; returns its arguments, base images and exposed ports',
  scope: 'WRITE',
  target: 'environment',
  body: Named('DockerfileCheckRequest', Type.Object({ git_repository: GitRepositoryRequest, dockerfile_path: path })),
  status: 200,
  response: Named(
    'DockerfileCheckResponse',
    Type.Object({
      dockerfile_path: Type.String(),
      arg: Type.Optional(Type.Array(Type.String())),
      repositories: Type.Optional(Type.Array(Type.String())),
      /** TCP ports that its EXPOSE lines name. */
      ports: Type.Optional(Type.Array(Type.Integer())),
    }),
  ),
  errors: [400],
});

export const checkGitFile = operation({
  id: 'checkGitFile',
  method: 'POST',
  path: `${at}/checkGitFile`,
  tag,
  summary: 'Check that files are in a git repository, below its root_path',
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'GitFileCheckRequest',
    Type.Object({ git_repository: GitRepositoryRequest, files: Type.Array(path, { minItems: 1, maxItems: 50 }) }),
  ),
  status: 200,
  response: Named('GitFileCheckResponse', Type.Object({})),
  errors: [400],
});

export const checkContainerImage = operation({
  id: 'checkContainerImage',
  method: 'POST',
  path: `${at}/checkContainerImage`,
  tag,
  summary:
    'Check that a container registry has an image for this machine; without `registry_id` the public registry of the kind HUBA_CR',
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'ContainerImageCheckRequest',
    Type.Object({
      registry_id: Type.Optional(Uuid),
      image_name: Type.String({ minLength: 1, maxLength: 255 }),
      tag: Type.String({ minLength: 1, maxLength: 255 }),
    }),
  ),
  status: 200,
  response: Named('ContainerImageCheckResponse', Type.Object({})),
  errors: [400, 424],
});

export const checkHelmRepository = operation({
  id: 'checkHelmRepository',
  method: 'POST',
  path: `${at}/checkHelmRepository`,
  tag,
  summary: 'Check that the root_path of a git repository holds a Helm chart',
  scope: 'WRITE',
  target: 'environment',
  body: Named('HelmCheckRequest', Type.Object({ git_repository: GitRepositoryRequest })),
  status: 200,
  response: Named('HelmCheckResponse', Type.Object({})),
  errors: [400],
});
