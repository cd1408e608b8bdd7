import { Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import { statement } from '../../packages/db/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { busybox, type TestSetup } from '../support/setup.ts';
import type { EngineSubjectName as SubjectName } from '../../packages/engine/src/testing/crash/cases.ts';

/**
 * A kind of service of the crash matrix: how a service is created and changed, and how a test checks that the service
 * runs as last deployed.
 */
export interface Subject {
  /** The name of the resource in URL paths. */
  readonly noun: 'application' | 'container' | 'database' | 'job' | 'terraform';
  /** Number of instances of a deployed service. */
  readonly instances: number;
  /** Creates the record of a service that shows this text once it is deployed. Returns its id. */
  create(text: string): Promise<string>;
  /** Changes the service so that its next deployment shows this text. */
  change(id: string, text: string): Promise<void>;
  /** Returns the text that the deployed service shows. */
  shown(id: string): Promise<string>;
  /** Returns data that must not change until the service is removed. Absent for a service that stores no data. */
  mark?(id: string): Promise<string>;
  /** Returns the lines that the runs of the service printed. Absent for a service without runs. */
  output?(id: string): Promise<readonly string[]>;
}

export interface SubjectPaths {
  /** The id of the registry that has the databases and `web`, an image of busybox. */
  readonly registryId: string;
}

const schedules = statement<{ expression: string }>(
  'e2e_crash_schedule',
  `SELECT r.config -> 'job' -> 'schedule' ->> 'expression' AS expression
     FROM job_schedule s JOIN service_runtime t ON t.service_id = s.service_id JOIN release r ON r.id = t.release_id
    WHERE s.service_id = $1 AND t.desired = 'RUNNING'`,
);
const port = { internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' };
const serve = 'exec httpd -f -p 3000 -h';
const shell = (script: string) => ({ entrypoint: '/bin/sh', arguments: ['-c', script] });
const randomName = (): string => `s${randomUUID().slice(0, 8)}`;

/** Creates every subject on one stage. */
export function makeSubjects(setup: TestSetup, locations: SubjectPaths): Readonly<Record<SubjectName, Subject>> {
  return {
    application: application(setup),
    'application with a volume': applicationWithVolume(setup),
    container: container(setup, locations),
    database: database(setup),
    job: job(setup),
    'cron job': cronJob(setup),
    terraform: terraform(setup),
  };
}

type Repository = ReturnType<TestSetup['repository']>['repository'];

function application(setup: TestSetup): Subject {
  const dockerfile = `FROM ${busybox}\nCOPY index.html /www/index.html\nCMD ["httpd", "-f", "-p", "3000", "-h", "/www"]\n`;
  const repositories = new Map<string, Repository>();
  return {
    noun: 'application',
    instances: 1,
    create: async (text) => {
      const name = randomName();
      const { repository, url } = setup.repository(name, { Dockerfile: dockerfile, 'index.html': text });
      const id = await create(setup, 'application', {
        name,
        dockerfile_path: 'Dockerfile',
        git_repository: { url, branch: 'main' },
        memory: 64,
        ports: [port],
      });
      repositories.set(id, repository);
      return id;
    },
    change: async (id, text) => void repositories.get(id)?.commit(text, { 'index.html': text }),
    shown: (id) => page(setup, 'application', id, '/'),
  };
}

function applicationWithVolume(setup: TestSetup): Subject {
  const script = `cp /text /data/text; [ -f /data/mark ] || cat /proc/sys/kernel/random/uuid > /data/mark; ${serve} /data`;
  const dockerfile = `FROM ${busybox}\nCOPY text /text\nCMD ["sh", "-c", "${script}"]\n`;
  const repositories = new Map<string, Repository>();
  return {
    noun: 'application',
    instances: 1,
    create: async (text) => {
      const name = randomName();
      const { repository, url } = setup.repository(name, { Dockerfile: dockerfile, text });
      const id = await create(setup, 'application', {
        name,
        dockerfile_path: 'Dockerfile',
        git_repository: { url, branch: 'main' },
        memory: 64,
        ports: [port],
        storage: [{ type: 'FAST_SSD', size: 1, mount_point: '/data' }],
      });
      repositories.set(id, repository);
      return id;
    },
    change: async (id, text) => void repositories.get(id)?.commit(text, { text }),
    shown: (id) => page(setup, 'application', id, '/text'),
    mark: (id) => page(setup, 'application', id, '/mark'),
  };
}

function container(setup: TestSetup, { registryId }: SubjectPaths): Subject {
  const showing = (text: string) => shell(`mkdir -p /www; echo ${text} > /www/index.html; ${serve} /www`);
  return {
    noun: 'container',
    instances: 1,
    create: (text) => {
      const image = { registry_id: registryId, image_name: 'web', tag: '1' };
      return create(setup, 'container', { name: randomName(), ...image, ...showing(text), memory: 64, ports: [port] });
    },
    change: async (id, text) => void (await setup.davit.ask('PUT', `/container/${id}`, showing(text))),
    shown: (id) => page(setup, 'container', id, '/'),
  };
}

/** Returns the subject for Redis. Its text stands for the memory limit that the engine reports. Its data is a key. */
function database(setup: TestSetup): Subject {
  const sizes = new Map<string, number>();
  let size = 100;
  const next = (text: string): number => {
    size = size >= 180 ? 101 : size + 1;
    sizes.set(text, size);
    return size;
  };
  return {
    noun: 'database',
    instances: 1,
    create: (text) => {
      const kind = { type: 'REDIS', version: '7', mode: 'CONTAINER', accessibility: 'PUBLIC' };
      return create(setup, 'database', { name: randomName(), ...kind, memory: next(text) });
    },
    change: async (id, text) => void (await setup.davit.ask('PUT', `/database/${id}`, { memory: next(text) })),
    shown: async (id) => {
      const [one] = await setup.containers(id);
      const limit = (await setup.docker.getContainer(one?.Id ?? '').inspect()).HostConfig.Memory ?? 0;
      return [...sizes].find(([, mebibytes]) => mebibytes * 1024 * 1024 === limit)?.[0] ?? `${limit} bytes`;
    },
    mark: (id) =>
      eventually(async () => {
        const {
          login,
          password,
          port: at,
        } = await setup.davit.client.call('getDatabaseMasterCredentials', {
          params: { databaseId: id },
        });
        const output = await redis(at, [`AUTH ${login} ${password}`, `SET mark ${randomUUID()} NX`, 'GET mark']).catch(() => []);
        // The replies are: OK, OK or nothing, a length, the text, OK.
        return output.length === 5 ? output[3] : undefined;
      }, 'an answer of Redis'),
  };
}

function job(setup: TestSetup): Subject {
  const schedule = (text: string) => ({
    on_start: shell(`echo begin ${text}; sleep 0.3; echo end ${text}`),
    on_stop: shell(`echo stop ${text}`),
    on_delete: shell(`echo delete ${text}`),
  });
  return jobSubject(setup, schedule, async (id) => {
    const lines = await outputOf(setup, id);
    return lines.findLast((line) => line.startsWith('end '))?.slice(4) ?? '';
  });
}

function cronJob(setup: TestSetup): Subject {
  // The schedule is never due within the next days. Its minute stands for the text.
  const month = new Date(Date.now() + 120 * 86_400_000).getUTCMonth() + 1;
  const expressions = new Map<string, string>();
  const schedule = (text: string) => {
    const scheduled_at = `${expressions.size % 60} ${Math.floor(expressions.size / 60) % 24} 1 ${month} *`;
    expressions.set(text, scheduled_at);
    return { cronjob: { ...shell('echo tick'), timezone: 'UTC', scheduled_at } };
  };
  return jobSubject(setup, schedule, async (id) => {
    const [row] = await setup.davit.database.database.many(schedules, [id]);
    return [...expressions].find(([, expression]) => expression === row?.expression)?.[0] ?? 'no schedule';
  });
}

function jobSubject(setup: TestSetup, schedule: (text: string) => object, shown: Subject['shown']): Subject {
  const repositories = new Map<string, Repository>();
  return {
    noun: 'job',
    instances: 0,
    create: async (text) => {
      const name = randomName();
      const { repository, url } = setup.repository(name, { 'readme.txt': text });
      const dockerfile_raw = `FROM ${busybox}\nCOPY readme.txt /readme.txt\n`;
      const source = { docker: { git_repository: { url, branch: 'main' }, dockerfile_raw } };
      const id = await create(setup, 'job', { name, source, memory: 64, schedule: schedule(text) });
      repositories.set(id, repository);
      return id;
    },
    change: async (id, text) => {
      // The commit is new, because the image of a known commit is not built again.
      repositories.get(id)?.commit(text, { 'readme.txt': text });
      await setup.davit.ask('PUT', `/job/${id}`, { schedule: schedule(text) });
    },
    shown,
    output: (id) => outputOf(setup, id),
  };
}

async function outputOf(setup: TestSetup, jobId: string): Promise<readonly string[]> {
  const { results } = await setup.davit.client.call('listJobLog', { params: { jobId }, query: {} });
  return results.map(({ message }) => message);
}

/**
 * Returns the subject for Terraform. Its data is the id of a resource, which changes only if the resource was lost and
 * created again.
 */
function terraform(setup: TestSetup): Subject {
  const files = (text: string) => ({
    'main.tf': `resource "terraform_data" "one" { input = "${text}" }
output "text" { value = terraform_data.one.output }
output "mark" { value = terraform_data.one.id }\n`,
  });
  const repositories = new Map<string, Repository>();
  const output = async (id: string, name: string): Promise<string> => {
    const { environmentId } = setup;
    const { results } = await setup.davit.client.call('listEnvironmentEnvironmentVariable', { params: { environmentId } });
    const key = `DAVIT_OUTPUT_TERRAFORM_Z${id.slice(0, 8).toUpperCase()}_${name}`;
    return results.find((one) => one.key === key)?.value ?? '';
  };
  return {
    noun: 'terraform',
    instances: 0,
    create: async (text) => {
      const name = randomName();
      const { repository, url } = setup.repository(name, files(text));
      const id = await create(setup, 'terraform', { name, terraform_files_source: { git_repository: { url, branch: 'main' } } });
      repositories.set(id, repository);
      return id;
    },
    change: async (id, text) => void repositories.get(id)?.commit(text, files(text)),
    shown: (id) => output(id, 'text'),
    mark: (id) => output(id, 'mark'),
  };
}

async function create(setup: TestSetup, noun: Subject['noun'], body: object): Promise<string> {
  const made = await setup.davit.ask('POST', `/environment/${setup.environmentId}/${noun}`, { healthchecks: {}, ...body });
  if (typeof made === 'object' && made !== null && 'id' in made) return String(made.id);
  throw new Error(`the ${noun} has no id`);
}

/** Returns a page of a service at the service's own address. */
async function page(setup: TestSetup, noun: string, id: string, path: string): Promise<string> {
  const links = await setup.davit.ask('GET', `/${noun}/${id}/link`);
  const list: unknown = Reflect.get(Object(links), 'results');
  const url: unknown = Array.isArray(list) ? Reflect.get(Object(list[0]), 'url') : undefined;
  if (typeof url !== 'string') throw new Error(`the ${noun} has no address`);
  const { status, body } = await setup.fetch(new URL(path, url).href);
  if (status !== 200) throw new Error(`${url} answered ${status}`);
  return body.trim();
}

/** Returns the lines that Redis replies to these commands. */
function redis(at: number, commands: readonly string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = new Socket();
    let output = '';
    socket.setTimeout(2_000, () => socket.destroy(new Error('no answer')));
    socket.on('data', (chunk: Buffer) => (output += chunk.toString()));
    socket.once('error', reject);
    socket.once('close', () => resolve(output.split('\r\n').filter((line) => line !== '')));
    socket.connect(at, '127.0.0.1', () => socket.write(`${[...commands, 'QUIT'].join('\r\n')}\r\n`));
  });
}
