import type { Entry } from '../../parts/entries.tsx';

export const modes = {
  kind: 'pick',
  options: [
    ['DEVELOPMENT', 'Development'],
    ['STAGING', 'Staging'],
    ['PRODUCTION', 'Production'],
    ['PREVIEW', 'Preview'],
  ],
} as const;

/** The fields of an environment. */
export function environmentEntries(clusters: readonly { readonly id: string; readonly name: string }[]): Entry[] {
  return [
    { path: 'name', label: 'Name', control: { kind: 'text' } },
    { path: 'mode', label: 'Mode', help: 'Rights and deployment rules may depend on it.', control: modes },
    {
      path: 'cluster_id',
      label: 'Cluster',
      help: 'On another cluster, services move at their next deployment.',
      control: { kind: 'pick', options: clusters.map(({ id, name }) => [id, name]) },
    },
    {
      path: 'auto_preview',
      label: 'Previews',
      help: 'A pull request gets a copy of the environment.',
      control: { kind: 'switch' },
    },
  ];
}

export const projectEntries: readonly Entry[] = [
  { path: 'name', label: 'Name', control: { kind: 'text' } },
  { path: 'description', label: 'Description', help: 'What it is for, in your own words.', control: { kind: 'text' } },
];
