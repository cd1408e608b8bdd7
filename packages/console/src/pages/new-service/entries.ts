import type { Entry, PickControl } from '../../parts/entries.tsx';
import { valueAt, type Json } from '../../data/paths.ts';

/* Questions about a new service of each kind. Settings that are left out here have a default. */

/** Choices that the organization and the environment offer. */
export interface Offers {
  readonly gitTokens: PickControl['options'];
  readonly registries: PickControl['options'];
  readonly helmRepositories: PickControl['options'];
  readonly charts: readonly { readonly chart_name?: string; readonly versions?: readonly string[] }[];
  /** Versions by the type of the database. */
  readonly databases: ReadonlyMap<string, readonly string[]>;
}

export const text = { kind: 'text' } as const;
export const number = (unit: string) => ({ kind: 'number', unit }) as const;
/** Fields that only decide which others are asked. They are not sent. */
export const chosenSource = '_source';
export const chosenJob = '_job';

export const name: Entry = { path: 'name', label: 'Name', help: 'Name in lists and in addresses.', control: text };

export const sourceSection = 'Source';

export function git(path: string, { gitTokens }: Offers): Entry[] {
  const section = sourceSection;
  return [
    { path: `${path}.url`, label: 'Repository', help: 'HTTPS address, as for git clone.', control: text, section },
    { path: `${path}.branch`, label: 'Branch', help: 'Empty: the default branch.', control: text, section },
    {
      path: `${path}.root_path`,
      label: 'Folder',
      help: 'Folder of the service in the repository. Empty: all of it.',
      control: text,
      section,
    },
    {
      path: `${path}.git_token_id`,
      label: 'Git token',
      help: 'A private repository is read with it. Tokens are kept at the organization.',
      control: { kind: 'pick', options: gitTokens, none: 'None: everybody may read the repository' },
      section,
    },
  ];
}

export const docker = (path: string): Entry[] => [
  {
    path: `${path}dockerfile_path`,
    label: 'Dockerfile',
    help: 'Path of the Dockerfile, from the folder.',
    control: text,
    section: sourceSection,
  },
];

export const image = (path: string, { registries }: Offers): Entry[] => [
  {
    path: `${path}registry_id`,
    label: 'Registry',
    help: 'Registries are kept at the organization.',
    control: { kind: 'pick', options: registries, none: 'Choose a registry' },
    section: sourceSection,
  },
  {
    path: `${path}image_name`,
    label: 'Image',
    help: 'As library/nginx, without the tag.',
    control: text,
    section: sourceSection,
  },
  { path: `${path}tag`, label: 'Tag', help: 'As 1.29.', control: text, section: sourceSection },
];

export const ports: Entry = {
  path: 'ports',
  label: 'Ports',
  help: 'Where the process listens. A public port gets an address outside the environment.',
  section: 'Network',
  control: {
    kind: 'rows',
    add: 'Add a port',
    blank: { internal_port: 8080, protocol: 'HTTP', publicly_accessible: true },
    columns: [
      { name: 'internal_port', label: 'Port', kind: 'number', width: '96px' },
      { name: 'protocol', label: 'Protocol', kind: ['HTTP', 'GRPC', 'TCP', 'UDP'] },
      { name: 'publicly_accessible', label: 'Public', kind: 'check', width: '60px' },
    ],
  },
};

export const section = 'Resources';
export const resources: Entry[] = [
  { path: 'cpu', label: 'Processor', help: 'Of each instance; 1,000 is one core.', control: number('millicores'), section },
  {
    path: 'memory',
    label: 'Memory',
    help: 'Of each instance. One that needs more is ended.',
    control: number('MiB'),
    section,
  },
];
export const instances: Entry[] = [
  { path: 'min_running_instances', label: 'Instances', help: 'That always run.', control: number('at least'), section },
  {
    path: 'max_running_instances',
    label: 'Most instances',
    help: 'More than the least: instances come and go by load.',
    control: number('at most'),
    section,
  },
];
export const sizes = { cpu: 500, memory: 512 };
export const counts = { min_running_instances: 1, max_running_instances: 1 };

function command(path: string): Entry[] {
  return [
    {
      path: `${path}.entrypoint`,
      label: 'Program',
      help: 'Empty: the one of the image.',
      control: text,
      section: 'Run',
    },
    { path: `${path}.arguments`, label: 'Arguments', help: 'One a line.', control: { kind: 'lines' }, section: 'Run' },
  ];
}

export function jobEntries(values: Json, offers: Offers): Entry[] {
  const isCron = valueAt(values, chosenJob) === 'cron';
  const isImage = valueAt(values, chosenSource) === 'image';
  const schedule: Entry[] = [
    {
      path: 'schedule.cronjob.scheduled_at',
      label: 'Schedule',
      help: 'Minute, hour, day of month, month, day of week: 30 2 * * * is every night at 2:30.',
      control: text,
      section: 'Run',
    },
    { path: 'schedule.cronjob.timezone', label: 'Time zone', help: 'As Europe/Berlin.', control: text, section: 'Run' },
  ];
  return [
    name,
    {
      path: chosenJob,
      label: 'Runs',
      control: {
        kind: 'pick',
        options: [
          ['cron', 'By a schedule'],
          ['start', 'At each deployment, before what comes after it'],
        ],
      },
    },
    {
      path: chosenSource,
      label: 'From',
      section: sourceSection,
      control: {
        kind: 'pick',
        options: [
          ['git', 'A git repository with a Dockerfile'],
          ['image', 'An image of a registry'],
        ],
      },
    },
    ...(isImage ? image('source.image.', offers) : [...git('source.docker.git_repository', offers), ...docker('source.docker.')]),
    ...(isCron ? schedule : []),
    ...command(isCron ? 'schedule.cronjob' : 'schedule.on_start'),
    { path: 'max_nb_restart', label: 'Repetitions', help: 'Of a failed run.', control: number('times'), section: 'Run' },
    {
      path: 'max_duration_seconds',
      label: 'Longest run',
      help: 'A longer run has failed.',
      control: number('seconds'),
      section: 'Run',
    },
    ...resources,
  ];
}

export function helmEntries(values: Json, offers: Offers): Entry[] {
  const isGit = valueAt(values, chosenSource) === 'git';
  const at = 'source.helm_repository';
  const chart = offers.charts.find(({ chart_name }) => chart_name === valueAt(values, `${at}.chart_name`));
  const repository: Entry[] = [
    {
      path: `${at}.repository`,
      label: 'Helm repository',
      help: 'Helm repositories are kept at the organization.',
      control: { kind: 'pick', options: offers.helmRepositories, none: 'Choose a repository' },
      section: sourceSection,
    },
    {
      path: `${at}.chart_name`,
      label: 'Chart',
      control: text,
      suggestions: offers.charts.flatMap(({ chart_name }) => chart_name ?? []),
      section: sourceSection,
    },
    {
      path: `${at}.chart_version`,
      label: 'Version',
      control: text,
      suggestions: (chart?.versions ?? []).slice(0, 100),
      section: sourceSection,
    },
  ];
  return [
    name,
    {
      path: chosenSource,
      label: 'From',
      section: sourceSection,
      control: {
        kind: 'pick',
        options: [
          ['chart', 'A Helm repository'],
          ['git', 'A git repository with the chart'],
        ],
      },
    },
    ...(isGit ? git('source.git_repository', offers) : repository),
    {
      path: 'values_override.file.raw.values',
      label: 'Values files',
      help: 'In this order; later files win.',
      section: 'Values',
      control: {
        kind: 'rows',
        add: 'Add a file',
        blank: { name: 'values.yaml', content: '\n' },
        columns: [
          { name: 'name', label: 'Name', kind: 'text', width: '30%' },
          { name: 'content', label: 'YAML', kind: 'text' },
        ],
      },
    },
    {
      path: 'allow_cluster_wide_resources',
      label: 'Cluster-wide resources',
      help: 'The chart may create resources outside its namespace.',
      control: { kind: 'switch' },
      section: 'Values',
    },
  ];
}

const databaseWords = [
  ['POSTGRESQL', 'PostgreSQL'],
  ['MYSQL', 'MySQL'],
  ['MONGODB', 'MongoDB'],
  ['REDIS', 'Redis'],
] as const;

export function databaseEntries(values: Json, { databases }: Offers): Entry[] {
  const type = valueAt(values, 'type');
  const versions = databases.get(typeof type === 'string' ? type : '') ?? [];
  return [
    name,
    { path: 'type', label: 'Type', control: { kind: 'pick', options: databaseWords } },
    {
      path: 'version',
      label: 'Version',
      control: { kind: 'pick', options: versions.map((one) => [one, one] as const), none: 'Choose a version' },
    },
    {
      path: 'mode',
      label: 'Backups',
      control: {
        kind: 'pick',
        options: [
          ['MANAGED', 'Davit makes backups'],
          ['CONTAINER', 'Only on request'],
        ],
      },
    },
    {
      path: 'accessibility',
      label: 'Access',
      control: {
        kind: 'pick',
        options: [
          ['PRIVATE', 'Services of its environment'],
          ['PUBLIC', 'Everybody who knows address and password'],
        ],
      },
    },
    { path: 'storage', label: 'Storage', help: 'It can grow later, and not shrink.', control: number('GiB'), section },
    ...resources,
  ];
}
