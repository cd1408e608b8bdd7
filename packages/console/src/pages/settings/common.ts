import type { Setting } from './setting.ts';

/* Settings that several kinds of services share. */

export const text = { kind: 'text' } as const;
export const toggle = { kind: 'switch' } as const;
export const lines = { kind: 'lines' } as const;
export const number = (unit: string) => ({ kind: 'number', unit }) as const;
export const command = [
  ['Entrypoint', 'entrypoint', 'Program that runs instead of the one of the image.', text],
  ['Arguments', 'arguments', 'One argument a line.', lines],
] as const;

/** Returns the settings of a git repository whose request and record are at these paths. */
export function git(path: string, from = path): Setting[] {
  const at = (name: string, label: string, help: string): Setting => ({
    path: `${path}.${name}`,
    from: `${from}.${name}`,
    label,
    help,
    control: text,
  });
  return [
    at('url', 'Repository', 'HTTPS address of the git repository.'),
    at('branch', 'Branch', 'Its newest commit is deployed. Empty: the default branch.'),
    at('root_path', 'Root path', 'Folder of the service in the repository.'),
    at('git_token_id', 'Git token', 'Id of the git token of the organization for a private repository.'),
  ];
}

export const docker = (path: string): Setting[] => [
  { path: `${path}dockerfile_path`, label: 'Dockerfile', help: 'Path of the Dockerfile, from the root path.', control: text },
  {
    path: `${path}docker_target_build_stage`,
    label: 'Build stage',
    help: 'Stage of the Dockerfile that is deployed. Empty: the last one.',
    control: text,
  },
];
export const image = (path: string): Setting[] => [
  { path: `${path}image_name`, label: 'Image', help: 'Name of the image in its registry, without the tag.', control: text },
  { path: `${path}tag`, label: 'Tag', help: 'Tag that is deployed.', control: text },
  { path: `${path}registry_id`, label: 'Registry', help: 'Id of the container registry of the organization.', control: text },
];
export const commandAt = (path: string, of: string): Setting[] =>
  command.map(([label, name, help, control]) => ({
    path: `${path}.${name}`,
    label: `${of}: ${label.toLowerCase()}`,
    help,
    control,
  }));
