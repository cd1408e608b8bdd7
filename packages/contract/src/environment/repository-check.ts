import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, enumeration, Named, Nullable, Words } from '../shape.ts';
import { GitRepositoryRequest } from '../service/parts.ts';

export const repositoryLanguages = enumeration(
  'RepositoryLanguage',
  {
    CSHARP: 'A .NET project or solution file.',
    ELIXIR: 'The file mix.exs.',
    GO: 'The file go.mod.',
    HTML: 'The file index.html: pages that need no program.',
    JAVA: 'A build file of Maven or Gradle; also Kotlin and Scala.',
    JAVASCRIPT: 'The file package.json, without a tsconfig.json.',
    PHP: 'The file composer.json or index.php.',
    PYTHON: 'The files pyproject.toml, requirements.txt, Pipfile or setup.py.',
    RUBY: 'The file Gemfile.',
    RUST: 'The file Cargo.toml.',
    TYPESCRIPT: 'The files package.json and tsconfig.json.',
  },
  'A language, by the files that its tools need in the folder of a project.',
);

const FoundPort = Named(
  'FoundPort',
  Type.Object({
    port: about('The number of the port inside of the container.', Type.Integer()),
    protocol: about(
      'The protocol that the line names. HTTP is TCP here.',
      Words({ TCP: 'TCP, also HTTP.', UDP: 'UDP datagrams.' }),
    ),
  }),
  'A port that a Dockerfile exposes.',
);

const FoundDockerfile = Named(
  'FoundDockerfile',
  Type.Object({
    path: about('The path below `root_path`: the `dockerfile_path` of an application.', Type.String()),
    ports: about(
      'What the built image exposes, at most 50 ports. Ports that depend on unknown values are missing.',
      Type.Array(FoundPort),
    ),
    stages: about('The names of its stages: what `docker_target_build_stage` may be.', Type.Array(Type.String())),
    arguments: about('The names of the arguments that it declares.', Type.Array(Type.String())),
    images: about('The images that it is based on, as written.', Type.Array(Type.String())),
    fault: about('Why it cannot be built, with its line. null: no fault was found.', Nullable(Type.String())),
  }),
  'A Dockerfile of a repository.',
);

const FoundComposeFile = Named(
  'FoundComposeFile',
  Type.Object({
    path: about('The path below `root_path`.', Type.String()),
    services: about('The names of its services. Empty if the file cannot be read.', Type.Array(Type.String())),
  }),
  'A compose file of a repository.',
);

export const checkGitRepository = operation({
  id: 'checkGitRepository',
  method: 'POST',
  path: '/environment/{environmentId}/checkGitRepository',
  tag: 'Environment',
  summary: 'Find out what a git repository can be deployed as',
  description: `
    Reads a git repository and returns its branches, Dockerfiles with their ports and stages, its compose file, charts and
    languages below \`root_path\`. Nothing is stored and nothing is deployed.

    It has a minute. The first 20,000 files are searched, and the 20 Dockerfiles nearest to \`root_path\` are read, without
    \`node_modules\`, \`vendor\`, and folders that begin with a dot.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`SOURCE_NOT_USABLE\` (400) | The repository or a file is not usable; the message has the cause. | Correct the field in \`errors\`. |
    | \`INVALID_REFERENCE\` (400) | An id in the body names nothing of this organization. | Correct the id. |
  `,
  scope: 'WRITE',
  target: 'environment',
  body: Named('RepositoryCheckRequest', Type.Object({ git_repository: GitRepositoryRequest }), 'A git repository to look into.'),
  status: 200,
  response: Named(
    'RepositoryCheck',
    Type.Object({
      commit_id: about('The commit that was read: the newest one of the branch.', Type.String()),
      default_branch: about('The default branch of the repository. null: it names none.', Nullable(Type.String())),
      branches: about('The names of the branches, sorted; the first 200.', Type.Array(Type.String())),
      dockerfiles: about('The Dockerfiles, nearest to `root_path` first.', Type.Array(FoundDockerfile)),
      compose_file: about('The compose file at `root_path`. null: there is none.', Nullable(FoundComposeFile)),
      charts: about('The folders with a Helm chart, below `root_path`; the first 20.', Type.Array(Type.String())),
      terraform: about('Whether there are Terraform files at `root_path`.', Type.Boolean()),
      languages: about('The languages of the project at `root_path`.', Type.Array(Words(repositoryLanguages))),
      complete: about('Whether all files were searched. false: the repository has more than 20,000.', Type.Boolean()),
    }),
    'What is in a git repository.',
  ),
  errors: [400],
});
