import type { Entry } from '../../parts/entries.tsx';
import { valueAt, withValueAt, type Json } from '../../data/paths.ts';
import type { SendId } from '../../data/send.ts';
import type { ServiceType } from '../../words.ts';
import {
  chosenJob,
  chosenSource,
  counts,
  databaseEntries,
  docker,
  git,
  helmEntries,
  image,
  instances,
  jobEntries,
  name,
  number,
  ports,
  resources,
  sizes,
  sourceSection,
  text,
  type Offers,
} from './entries.ts';

export interface NewKind {
  readonly type: ServiceType;
  readonly title: string;
  readonly about: string;
  readonly create: SendId;
  readonly initial: Json;
  readonly entries: (values: Json, offers: Offers) => Entry[];
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
