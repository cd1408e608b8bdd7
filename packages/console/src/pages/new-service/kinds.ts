import type { Entry, PickControl } from '../../parts/entries.tsx';
import { valueAt, withValueAt, type Json } from '../settings/paths.ts';
import type { SendId } from '../../data/send.ts';
import type { ServiceType } from '../../words.ts';

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

export interface NewKind {
  readonly type: ServiceType;
  readonly title: string;
  readonly about: string;
  readonly create: SendId;
  readonly initial: Json;
  readonly entries: (values: Json, offers: Offers) => Entry[];
}

const text = { kind: 'text' } as const;
const number = (unit: string) => ({ kind: 'number', unit }) as const;
/** Fields that only decide which others are asked. They are not sent. */
export const chosenSource = '_source';
export const chosenJob = '_job';

const name: Entry = { path: 'name', label: 'Name', help: 'Name in lists and in addresses.', control: text };

export const sourceSection = 'Source';

function git(path: string, { gitTokens }: Offers): Entry[] {
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

const docker = (path: string): Entry[] => [
  {
    path: `${path}dockerfile_path`,
    label: 'Dockerfile',
    help: 'Path of the Dockerfile, from the folder.',
    control: text,
    section: sourceSection,
  },
];

const image = (path: string, { registries }: Offers): Entry[] => [
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

const ports: Entry = {
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

const section = 'Resources';
const resources: Entry[] = [
  { path: 'cpu', label: 'Processor', help: 'Of each instance; 1,000 is one core.', control: number('millicores'), section },
  {
    path: 'memory',
    label: 'Memory',
    help: 'Of each instance. One that needs more is ended.',
    control: number('MiB'),
    section,
  },
];
const instances: Entry[] = [
  { path: 'min_running_instances', label: 'Instances', help: 'That always run.', control: number('at least'), section },
  {
    path: 'max_running_instances',
    label: 'Most instances',
    help: 'More than the least: instances come and go by load.',
    control: number('at most'),
    section,
  },
];
const sizes = { cpu: 500, memory: 512 };
const counts = { min_running_instances: 1, max_running_instances: 1 };

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

function jobEntries(values: Json, offers: Offers): Entry[] {
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

function helmEntries(values: Json, offers: Offers): Entry[] {
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

function databaseEntries(values: Json, { databases }: Offers): Entry[] {
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
          ['CONTAINER', 'None'],
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

const repository = { git_repository: { branch: 'main' } };

export const newKinds: readonly NewKind[] = [
  {
    type: 'APPLICATION',
    title: 'Application',
    about: 'Built from a git repository with a Dockerfile, and run permanently.',
    create: 'createApplication',
    initial: {
      ...repository,
      dockerfile_path: 'Dockerfile',
      healthchecks: {},
      ports: [],
      auto_deploy: true,
      ...sizes,
      ...counts,
    },
    entries: (_values, offers) => [
      name,
      ...git('git_repository', offers),
      ...docker(''),
      {
        path: 'auto_deploy',
        label: 'Deploy each push',
        help: 'A push to the branch deploys it.',
        control: { kind: 'switch' },
        section: sourceSection,
      },
      ports,
      ...instances,
      ...resources,
    ],
  },
  {
    type: 'CONTAINER',
    title: 'Container',
    about: 'An image of a registry, run permanently.',
    create: 'createContainer',
    initial: { healthchecks: {}, ports: [], ...sizes, ...counts },
    entries: (_values, offers) => [name, ...image('', offers), ports, ...instances, ...resources],
  },
  {
    type: 'DATABASE',
    title: 'Database',
    about: 'PostgreSQL, MySQL, MongoDB or Redis, with its storage.',
    create: 'createDatabase',
    initial: { type: 'POSTGRESQL', mode: 'MANAGED', accessibility: 'PRIVATE', storage: 10, cpu: 250, memory: 512 },
    entries: databaseEntries,
  },
  {
    type: 'JOB',
    title: 'Job',
    about: 'Runs to its end: by a schedule, or at each deployment.',
    create: 'createJob',
    initial: {
      [chosenJob]: 'cron',
      [chosenSource]: 'git',
      healthchecks: {},
      source: { docker: { ...repository, dockerfile_path: 'Dockerfile' } },
      schedule: { cronjob: { scheduled_at: '30 2 * * *', timezone: Intl.DateTimeFormat().resolvedOptions().timeZone } },
      max_nb_restart: 0,
      max_duration_seconds: 300,
      ...sizes,
    },
    entries: jobEntries,
  },
  {
    type: 'HELM',
    title: 'Helm chart',
    about: 'A chart of a Helm repository or of git, on a Kubernetes cluster.',
    create: 'createHelm',
    initial: { [chosenSource]: 'chart' },
    entries: helmEntries,
  },
  {
    type: 'TERRAFORM',
    title: 'Terraform',
    about: 'A Terraform or OpenTofu configuration of a git repository.',
    create: 'createTerraform',
    initial: { terraform_files_source: { git_repository: { branch: 'main' } }, engine: 'TERRAFORM', timeout_sec: 600 },
    entries: (_values, offers) => [
      name,
      ...git('terraform_files_source.git_repository', offers),
      {
        path: 'engine',
        label: 'Engine',
        section: 'Run',
        control: {
          kind: 'pick',
          options: [
            ['TERRAFORM', 'Terraform'],
            ['OPEN_TOFU', 'OpenTofu'],
          ],
        },
      },
      {
        path: 'provider_version.explicit_version',
        label: 'Version',
        help: 'Version of the engine. Empty: the newest that Davit has.',
        control: text,
        section: 'Run',
      },
      {
        path: 'timeout_sec',
        label: 'Time limit',
        help: 'A longer run is ended; its state is stored.',
        control: number('seconds'),
        section: 'Run',
      },
      {
        path: 'terraform_variables_source.tf_vars',
        label: 'Variables',
        section: 'Variables',
        control: {
          kind: 'rows',
          add: 'Add a variable',
          blank: { key: '', value: '', secret: false },
          columns: [
            { name: 'key', label: 'Name', kind: 'text' },
            { name: 'value', label: 'Value', kind: 'text' },
            { name: 'secret', label: 'Secret', kind: 'check', width: '60px' },
          ],
        },
      },
    ],
  },
];

/** Returns the values without what was not chosen: the other source, and the other way to run. */
export function bodyOf({ type }: NewKind, values: Json): Json {
  let body = withValueAt(withValueAt(values, chosenSource, undefined), chosenJob, undefined);
  const source = valueAt(values, chosenSource);
  if (type === 'JOB') {
    body = withValueAt(body, source === 'image' ? 'source.docker' : 'source.image', undefined);
    const isCron = valueAt(values, chosenJob) === 'cron';
    body = withValueAt(body, isCron ? 'schedule.on_start' : 'schedule.cronjob', undefined);
    if (!isCron && valueAt(values, 'schedule.on_start') === undefined) body = withValueAt(body, 'schedule.on_start', {});
  }
  if (type === 'HELM') body = withValueAt(body, source === 'git' ? 'source.helm_repository' : 'source.git_repository', undefined);
  return body;
}
