import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, Named, Uuid } from '../shape.ts';
import { GitRepositoryRequest } from '../service/parts.ts';

const tag = 'Environment';
const at = '/environment/{environmentId}' as const;
const path = Type.String({ minLength: 1, maxLength: 1000 });

export const checkDockerfile = operation({
  id: 'checkDockerfile',
  method: 'POST',
  path: `${at}/checkDockerfile`,
  tag,
  summary: 'Check a Dockerfile in a repository',
  description: `
    Fetches the repository and reads the Dockerfile. Returns its arguments, base images and exposed ports; builds
    and stores nothing.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`SOURCE_NOT_USABLE\` (400) | The repository or the file is not usable; the message has the cause. | Correct the field in \`errors\`. |
  `,
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'DockerfileCheckRequest',
    Type.Object({
      git_repository: GitRepositoryRequest,
      dockerfile_path: about('The Dockerfile, relative to `root_path`.', path),
    }),
    'The Dockerfile to check.',
  ),
  status: 200,
  response: Named(
    'DockerfileCheckResponse',
    Type.Object({
      dockerfile_path: about('The checked path.', Type.String()),
      arg: Type.Optional(about('The arguments that it declares by ARG.', Type.Array(Type.String()))),
      repositories: Type.Optional(about('The images that its stages start from.', Type.Array(Type.String()))),
      ports: Type.Optional(about('The TCP ports that its EXPOSE lines name.', Type.Array(Type.Integer()))),
    }),
    'What a Dockerfile declares.',
  ),
  errors: [400],
});

export const checkGitFile = operation({
  id: 'checkGitFile',
  method: 'POST',
  path: `${at}/checkGitFile`,
  tag,
  summary: 'Check files in a repository',
  description: `
    Fetches the repository and looks for the files, before a service that needs them is created. Stores nothing.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`SOURCE_NOT_USABLE\` (400) | The repository or a file is not usable; the message has the cause. | Correct the field in \`errors\`. |
  `,
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'GitFileCheckRequest',
    Type.Object({
      git_repository: GitRepositoryRequest,
      files: about('The paths, relative to `root_path`.', Type.Array(path, { minItems: 1, maxItems: 50 })),
    }),
    'The files to look for.',
  ),
  status: 200,
  response: Named('GitFileCheckResponse', Type.Object({}), 'An empty object: all is well.'),
  errors: [400],
});

export const checkContainerImage = operation({
  id: 'checkContainerImage',
  method: 'POST',
  path: `${at}/checkContainerImage`,
  tag,
  summary: 'Check an image in a registry',
  description: `
    Asks the registry whether it has the image for this machine, with the stored credentials. Pulls and stores
    nothing.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`SOURCE_NOT_USABLE\` (400) | The registry has no such image. | Correct name or tag. |
    | \`REMOTE_UNREACHABLE\` (424) | The registry does not answer. | Check its url. |
    | \`REMOTE_REFUSED\` (424) | The registry refuses the credentials. | Correct them. |
  `,
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'ContainerImageCheckRequest',
    Type.Object({
      registry_id: Type.Optional(about('The registry of the image; without it the public one of HUBA_CR.', Uuid)),
      image_name: about('The image without registry and tag.', Type.String({ minLength: 1, maxLength: 255 })),
      tag: about('The tag of the image.', Type.String({ minLength: 1, maxLength: 255 })),
    }),
    'The image to look for.',
  ),
  status: 200,
  response: Named('ContainerImageCheckResponse', Type.Object({}), 'An empty object: all is well.'),
  errors: [400, 424],
});

export const checkHelmRepository = operation({
  id: 'checkHelmRepository',
  method: 'POST',
  path: `${at}/checkHelmRepository`,
  tag,
  summary: 'Check a Helm chart in a repository',
  description: `
    Fetches the repository and reads the chart at \`root_path\`, before a Helm chart is created from it. Stores
    nothing.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`SOURCE_NOT_USABLE\` (400) | The repository or the chart is not usable; the message has the cause. | Correct the field in \`errors\`. |
  `,
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'HelmCheckRequest',
    Type.Object({ git_repository: about('The repository with the chart at `root_path`.', GitRepositoryRequest) }),
    'The Helm chart to check.',
  ),
  status: 200,
  response: Named('HelmCheckResponse', Type.Object({}), 'An empty object: all is well.'),
  errors: [400],
});
