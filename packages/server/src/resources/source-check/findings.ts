import type { operations, Response } from '@davit/contract';
import { FAILSAFE_SCHEMA, load } from 'js-yaml';
import type { DockerfileFacts } from '../../dockerfile.ts';

type Check = Response<(typeof operations)['checkGitRepository']>;
type Language = Check['languages'][number];

const mostDockerfiles = 20;
const mostCharts = 20;
const mostServices = 200;
/** Larger files are generated, or none. */
const longestText = 262_144;

const dockerfile = /^(?:.+\.)?(?:dockerfile|containerfile)(?:\..+)?$/i;
const composeFiles = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'];
/** Folders of the dependencies of a project, and of tools. */
const foreignFolder = /(?:^|\/)(?:node_modules|vendor|\.[^/]*)\//;

const languageOf: readonly (readonly [Language, RegExp])[] = [
  ['CSHARP', /^[^/]+\.(?:csproj|fsproj|sln)$/],
  ['ELIXIR', /^mix\.exs$/],
  ['GO', /^go\.mod$/],
  ['HTML', /^index\.html$/],
  ['JAVA', /^(?:pom\.xml|build\.gradle(?:\.kts)?|build\.sbt)$/],
  ['JAVASCRIPT', /^package\.json$/],
  ['PHP', /^(?:composer\.json|index\.php)$/],
  ['PYTHON', /^(?:pyproject\.toml|requirements\.txt|Pipfile|setup\.py)$/],
  ['RUBY', /^Gemfile$/],
  ['RUST', /^Cargo\.toml$/],
];

/** Returns the files whose texts are needed: Dockerfiles, nearest to the root first, and the compose file. */
export function filesToRead(paths: readonly string[]): string[] {
  const found = paths.filter((path) => dockerfile.test(nameOf(path)) && !foreignFolder.test(path));
  return [
    ...found.toSorted(byDepth).slice(0, mostDockerfiles),
    ...composeFiles.filter((path) => paths.includes(path)).slice(0, 1),
  ];
}

/** Returns what the paths of a repository's files say, and the texts of those that `filesToRead` returned. */
export function findings(
  paths: readonly string[],
  texts: ReadonlyMap<string, string>,
  readDockerfile: (content: string) => DockerfileFacts,
): Pick<Check, 'dockerfiles' | 'compose_file' | 'charts' | 'terraform' | 'languages'> {
  const compose = composeFiles.find((path) => texts.has(path));
  const read = [...texts].filter(([path]) => path !== compose);
  return {
    dockerfiles: read.map(([path, text]) => toDockerfile(path, text, readDockerfile)),
    compose_file: compose === undefined ? null : { path: compose, services: servicesOf(texts.get(compose) ?? '') },
    charts: paths
      .filter((path) => nameOf(path) === 'Chart.yaml' && !foreignFolder.test(path))
      .map((path) => path.slice(0, -'Chart.yaml'.length).replace(/\/$/, '') || '.')
      .toSorted(byDepth)
      .slice(0, mostCharts),
    terraform: paths.some((path) => /^[^/]+\.tf$/.test(path)),
    languages: languages(paths),
  };
}

function toDockerfile(
  path: string,
  text: string,
  readDockerfile: (content: string) => DockerfileFacts,
): Check['dockerfiles'][number] {
  if (text.length > longestText) {
    return { path, ports: [], stages: [], arguments: [], images: [], fault: `It is larger than ${longestText / 1024} KiB.` };
  }
  const { ports, stageNames, argumentNames, images, fault } = readDockerfile(text);
  return {
    path,
    ports: ports.map(({ port, protocol }) => ({ port, protocol })),
    stages: [...stageNames],
    arguments: [...argumentNames],
    images: [...images],
    fault: fault === null ? null : `Line ${fault.line}: ${fault.message}.`,
  };
}

function servicesOf(text: string): string[] {
  if (text.length > longestText) return [];
  try {
    const content = load(text, { schema: FAILSAFE_SCHEMA });
    const services: unknown = typeof content === 'object' && content !== null && 'services' in content ? content.services : null;
    return typeof services === 'object' && services !== null ? Object.keys(services).slice(0, mostServices) : [];
  } catch {
    // A file that is no compose file has no services. Its deployment reports the reason.
    return [];
  }
}

function languages(paths: readonly string[]): Language[] {
  const atRoot = paths.filter((path) => !path.includes('/'));
  const isTyped = atRoot.includes('tsconfig.json');
  return languageOf
    .filter(([, file]) => atRoot.some((path) => file.test(path)))
    .map(([language]) => (language === 'JAVASCRIPT' && isTyped ? 'TYPESCRIPT' : language))
    .toSorted();
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function byDepth(one: string, other: string): number {
  const depth = one.split('/').length - other.split('/').length;
  return depth !== 0 ? depth : one < other ? -1 : 1;
}
