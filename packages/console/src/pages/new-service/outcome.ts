import { callOf } from '../../command-line.ts';
import { isFields, isList, valueAt, type Json } from '../../data/paths.ts';
import type { Fact, Guide } from '../../parts/form-guide.tsx';
import { filled } from '../../parts/values.ts';
import { coresOf, memoryOf } from '../../quantity.ts';
import { plural, type ServiceType } from '../../words.ts';
import { chosenJob, chosenSource } from './entries.ts';
import { bodyOf, type NewKind } from './kinds.ts';

/* These functions say what a new service will be, in the words of its reader, while its form is filled in. */

/** Returns what stands beside the form of a new service. */
export function guideOf(kind: NewKind, environmentId: string, values: Json): Guide {
  return {
    facts: { title: 'What will be made', rows: factsOf(kind.type, values) },
    steps: {
      title: 'What happens next',
      lines: ['The service is created. Nothing runs yet.', ...steps[kind.type], ...webhookStep(values)],
    },
    command: callOf(kind.create, { environmentId }, filled(bodyOf(kind, values))),
  };
}

/** A push is seen only if the git host reports it. */
function webhookStep(values: Json): readonly string[] {
  const isNeeded = valueAt(values, 'auto_deploy') === true && textAt(values, 'git_repository.url') !== '';
  return isNeeded ? ['Set up the webhook of the git host, on the page of git events. Until then, no push is seen.'] : [];
}

const steps: Readonly<Record<ServiceType, readonly string[]>> = {
  APPLICATION: [
    'Give it variables, and domains of your own.',
    'Deploy it: the image is built from the newest commit, then its instances start.',
  ],
  CONTAINER: ['Give it variables, and domains of your own.', 'Deploy it: the image is fetched, then its instances start.'],
  DATABASE: [
    'Services of the environment get its address and password as built-in variables.',
    'Deploy it: it starts empty, and keeps its data over later deployments.',
  ],
  JOB: ['Give it variables.', 'Deploy it: from then on it runs as you chose. You can also run it by hand.'],
  HELM: ['Give it variables.', 'Deploy it: the chart is installed in the namespace of the environment.'],
  TERRAFORM: ['Give it variables and credentials.', 'Deploy it: the configuration is applied.'],
};

/** Returns what is known of the service so far. */
export function factsOf(type: ServiceType, values: Json): Fact[] {
  const facts: Readonly<Record<ServiceType, () => readonly (Fact | null)[]>> = {
    APPLICATION: () => [gitOf(values, 'git_repository'), deploysOf(values), reachOf(values), sizeOf(values)],
    CONTAINER: () => [imageOf(values, ''), reachOf(values), sizeOf(values)],
    DATABASE: () => databaseOf(values),
    JOB: () => jobOf(values),
    HELM: () => [
      valueAt(values, chosenSource) === 'git' ? gitOf(values, 'source.git_repository') : chartOf(values),
      [
        'May create',
        valueAt(values, 'allow_cluster_wide_resources') === true
          ? 'Resources of the whole cluster'
          : 'Resources in its namespace',
      ],
    ],
    TERRAFORM: () => [
      gitOf(values, 'terraform_files_source.git_repository'),
      ['Engine', valueAt(values, 'engine') === 'OPEN_TOFU' ? 'OpenTofu' : 'Terraform'],
      limitOf(values, 'timeout_sec'),
    ],
  };
  return facts[type]().filter((fact) => fact !== null);
}

function textAt(values: Json, path: string): string {
  const value = valueAt(values, path);
  return typeof value === 'string' ? value.trim() : '';
}

function numberAt(values: Json, path: string): number | null {
  const value = valueAt(values, path);
  return typeof value === 'number' ? value : null;
}

function gitOf(values: Json, path: string): Fact | null {
  const [url, branch] = [textAt(values, `${path}.url`), textAt(values, `${path}.branch`)];
  return url === '' ? null : ['Source', `${url}, ${branch === '' ? 'its default branch' : `branch ${branch}`}`];
}

function imageOf(values: Json, prefix: string): Fact | null {
  const [name, tag] = [textAt(values, `${prefix}image_name`), textAt(values, `${prefix}tag`)];
  return name === '' ? null : ['Image', tag === '' ? name : `${name}:${tag}`];
}

function chartOf(values: Json): Fact | null {
  const [name, version] = ['chart_name', 'chart_version'].map((one) => textAt(values, `source.helm_repository.${one}`));
  return name === undefined || name === '' ? null : ['Chart', `${name} ${version}`.trim()];
}

function deploysOf(values: Json): Fact {
  return ['Deploys', valueAt(values, 'auto_deploy') === true ? 'At each push to the branch' : 'When somebody deploys it'];
}

/** Returns the ports of the form that have this property, or all. */
function portsOf(values: Json, isWanted: (port: { readonly [name: string]: Json }) => boolean): (string | number)[] {
  const list = valueAt(values, 'ports');
  const ports = (isList(list) ? list : []).filter(isFields).filter(isWanted);
  return ports.map(({ internal_port: port }) => (typeof port === 'number' || typeof port === 'string' ? port : '?'));
}

function reachOf(values: Json): Fact {
  const publicPorts = portsOf(values, (port) => port['publicly_accessible'] === true);
  if (publicPorts.length > 0) return ['Reached by', `Everybody; the process listens on port ${publicPorts.join(' and ')}`];
  const ports = portsOf(values, () => true);
  return [
    'Reached by',
    ports.length > 0 ? `Services of its environment, at port ${ports.join(' and ')}` : 'Nobody: it has no port',
  ];
}

function sizeOf(values: Json): Fact | null {
  const each = eachOf(values);
  const [least, most] = [numberAt(values, 'min_running_instances'), numberAt(values, 'max_running_instances')];
  if (each === null || least === null || most === null) return null;
  if (least === most)
    return ['Size', least === 1 ? `1 instance with ${each}` : `${plural(least, 'instance')}, each with ${each}`];
  const range = most === -1 ? `${plural(least, 'instance')} or more` : `${least} to ${plural(most, 'instance')}`;
  return ['Size', `${range} by load, each with ${each}`];
}

function eachOf(values: Json): string | null {
  const [cpu, memory] = [numberAt(values, 'cpu'), numberAt(values, 'memory')];
  return cpu === null || memory === null ? null : `${coresOf(cpu)} and ${memoryOf(memory)}`;
}

function limitOf(values: Json, path: string): Fact | null {
  const seconds = numberAt(values, path);
  return seconds === null ? null : ['Time limit', `${plural(seconds, 'second')} for each run`];
}

const databaseNames: Readonly<Record<string, string>> = {
  POSTGRESQL: 'PostgreSQL',
  MYSQL: 'MySQL',
  MONGODB: 'MongoDB',
  REDIS: 'Redis',
};

function databaseOf(values: Json): (Fact | null)[] {
  const [each, storage] = [eachOf(values), numberAt(values, 'storage')];
  return [
    ['Database', `${databaseNames[textAt(values, 'type')] ?? ''} ${textAt(values, 'version')}`.trim()],
    [
      'Reached by',
      textAt(values, 'accessibility') === 'PUBLIC' ? 'Everybody who has the password' : 'Services of its environment',
    ],
    ['Backups', textAt(values, 'mode') === 'MANAGED' ? 'Davit makes and proves them' : 'Only those that somebody asks for'],
    each === null || storage === null ? null : ['Size', `${each}, and ${storage.toLocaleString('en')} GiB of storage`],
  ];
}

/** A schedule has five fields; a text that has fewer is still being typed, or wrong. */
const isSchedule = /^\S+(?:\s+\S+){4}$/;

function jobOf(values: Json): (Fact | null)[] {
  const [at, zone] = ['scheduled_at', 'timezone'].map((one) => textAt(values, `schedule.cronjob.${one}`));
  const schedule = !isSchedule.test(at ?? '')
    ? null
    : (['Runs', `At ${at}, ${zone === '' ? 'in UTC' : `time in ${zone}`}`] as const);
  const repeats = numberAt(values, 'max_nb_restart');
  const each = eachOf(values);
  return [
    valueAt(values, chosenSource) === 'image' ? imageOf(values, 'source.image.') : gitOf(values, 'source.docker.git_repository'),
    valueAt(values, chosenJob) === 'cron' ? schedule : ['Runs', 'At each deployment'],
    repeats === null
      ? null
      : ['If it fails', repeats === 0 ? 'It is not repeated' : `It is repeated up to ${plural(repeats, 'time')}`],
    limitOf(values, 'max_duration_seconds'),
    each === null ? null : ['Size', each],
  ];
}
