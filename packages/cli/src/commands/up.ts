import { stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Cli, Session } from '../cli.ts';
import { command, flags, followFlags, locationAliases, locationFlags } from '../command.ts';
import type { Named } from '../context/config.ts';
import { CliError, exitCodes, messageOf, misused, type ExitCode } from '../errors.ts';
import { announce, followDeployment, type FollowFlags } from '../follow.ts';
import { deployBody } from '../kinds.ts';
import { duration, plural, size } from '../output/text.ts';
import { leadsToLink, type LocationFlags, type Service, type ServiceReference, type Site } from '../location.ts';
import { detect, exposedPort, findPort, isPages, openFolder, type Detected } from '../up/detect.ts';
import { dockerfileFor, dockerignoreFor } from '../up/dockerfile.ts';
import { DeploymentWatch } from '../up/deployment-watch.ts';
import { Snapshots, type Snapshot, type Target as Remote } from '../up/snapshot.ts';
import { findTarget, named, type Target } from '../up/target.ts';
import { linkFolder } from './link.ts';

type UpFlags = LocationFlags &
  FollowFlags & {
    readonly name?: string;
    readonly port?: number;
    readonly noPort: boolean;
    readonly dockerfile?: string;
    readonly cluster?: string;
    readonly repository?: string;
    readonly branch?: string;
    readonly yes: boolean;
  };

/** The branch to which a folder is pushed. */
const branch = 'main';

export const up = command<UpFlags>({
  brief: 'Deploy this folder, and print its address',
  details:
    'The first time, it finds out what the folder is, writes a Dockerfile if there is none, and makes project, environment and service. Afterwards it deploys what changed. The folder is sent by git, with changes that are not committed and without what .gitignore and .dockerignore name; the folder itself needs no git.',
  examples: [
    ['', 'deploy this folder'],
    ['--yes --name shop-api --environment shop/production', 'without questions'],
    ['--port 8080', 'if the program does not say on which port it listens'],
    ['--no-port', 'for a program that answers no requests'],
    ['--repository https://git.example.org/acme/web --port 3000', 'deploy a git repository instead of this folder'],
  ],
  flags: {
    ...locationFlags,
    ...followFlags,
    name: flags.text('The name of the service. Default: that of the folder', 'name'),
    port: flags.number('The port on which the program listens', 'number'),
    noPort: flags.flag('The program listens on no port'),
    dockerfile: flags.text('The Dockerfile. Default: Dockerfile', 'file'),
    cluster: flags.text('Make the environment on this cluster. Default: the default one', 'name'),
    repository: flags.text('Deploy this git repository instead of the folder', 'url'),
    branch: flags.text('The branch of the repository. Default: main', 'name'),
    yes: flags.flag('Do not ask'),
  },
  aliases: { ...locationAliases, y: 'yes' },
  run: async (cli, given) => {
    const session = await cli.session(given);
    const known = await linkedApplication(session);
    const isSame = known !== null && given.name === undefined && given.repository === undefined;
    if (isSame && leadsToLink(cli, known.site.location, given)) {
      warnOfUnused(cli, known.service, given);
      return send(cli, session, known, given);
    }
    const plan = await makePlan(cli, session, given);
    showPlan(cli, plan);
    if (!given.yes) await consent(cli);
    // The folder stays linked to its environment when it is sent to another one for once.
    return send(cli, session, await carryOut(cli, session, plan, !isSame), given);
  },
});

/** A service that gets its files from this folder. */
interface Application {
  readonly site: Site;
  readonly service: ServiceReference;
  /** Whether its files are pushed; otherwise they come from a repository elsewhere. */
  readonly isPushed: boolean;
}

/** Says which flags have no effect, as they describe a service that is yet to be made. */
function warnOfUnused(
  { out }: Cli,
  { name }: ServiceReference,
  { port, noPort, dockerfile, cluster, branch: wanted }: UpFlags,
): void {
  const given = { '--port': port !== undefined, '--no-port': noPort, '--dockerfile': dockerfile !== undefined };
  const all = { ...given, '--cluster': cluster !== undefined, '--branch': wanted !== undefined };
  const unused = Object.entries(all).flatMap(([flag, isGiven]) => (isGiven ? [flag] : []));
  if (unused.length === 0) return;
  out.talk(`  ${out.mark('warn')} ${name} exists: ${unused.join(', ')} changes nothing. Change its settings in the console.`);
}

/**
 * Returns the application that the folder itself is linked to; null if there is none, or it was deleted. The
 * application of a folder above has other files.
 */
async function linkedApplication(session: Session): Promise<Application | null> {
  const { link, isLinkedHere } = session;
  if (!isLinkedHere || link === null || link.service === null || link.service.type !== 'APPLICATION') return null;
  const { organization, project, environment, service } = link;
  const { results } = await session.client.call('listServicesByEnvironmentId', { params: { environmentId: environment.id } });
  const found = results.find(({ id }) => id === service.id);
  if (found === undefined) return null;
  const site = { ...session, location: { organization, project, environment } };
  return { site, service: { id: service.id, name: service.name, type: 'APPLICATION' }, isPushed: isPushed(found) };
}

/** Returns whether the files of a service are pushed to Davit. */
function isPushed(service: Service): boolean {
  if (service.service_type !== 'APPLICATION') return false;
  return service.git_repository?.url.startsWith('davit:') === true;
}

interface Plan extends Target {
  readonly port: { readonly number: number; readonly from: string } | null;
  readonly dockerfile: { readonly name: string; readonly text: string | null };
  readonly found: Detected | null;
  /** A repository elsewhere; null: the folder is pushed. */
  readonly repository: { readonly url: string; readonly branch: string } | null;
}

async function makePlan(cli: Cli, session: Session, given: UpFlags): Promise<Plan> {
  const dockerfileName = given.dockerfile ?? 'Dockerfile';
  if (given.repository !== undefined) {
    const port = given.noPort ? null : await portOf(cli, given, { existing: '', found: null, name: dockerfileName });
    const repository = { url: given.repository, branch: given.branch ?? branch };
    return {
      ...(await findTarget(cli, session, given)),
      found: null,
      port,
      dockerfile: { name: dockerfileName, text: null },
      repository,
    };
  }
  const folder = openFolder(cli.folder);
  const existing = await folder.read(dockerfileName);
  if (existing === null && given.dockerfile !== undefined) throw misused(`There is no ${dockerfileName} in this folder.`);
  const found = existing === null ? await detect(folder) : null;
  if (existing === null && found === null) {
    throw misused(
      `Davit does not know how to build ${cli.folder}: it has no Dockerfile, package.json, requirements.txt, go.mod, Cargo.toml, pom.xml, build.gradle, composer.json, Gemfile or index.html.`,
      'Write a Dockerfile, then run davit up again.',
    );
  }
  const text = found === null ? null : dockerfileFor(given.port === undefined ? found : { ...found, port: given.port });
  const port = given.noPort ? null : await portOf(cli, given, { existing, found, name: dockerfileName });
  const location = await findTarget(cli, session, given);
  return { ...location, found, port, dockerfile: { name: dockerfileName, text }, repository: null };
}

interface Sources {
  readonly existing: string | null;
  readonly found: Detected | null;
  readonly name: string;
}

async function portOf(cli: Cli, given: UpFlags, { existing, found, name }: Sources): Promise<Plan['port']> {
  if (given.port !== undefined) {
    if (found !== null && isPages(found) && given.port !== found.port)
      throw misused(`The web server of pages listens on port ${found.port}.`, 'Leave out --port, or write a Dockerfile');
    return { number: given.port, from: '--port' };
  }
  if (found !== null)
    return { number: found.port, from: found.portFrom === null ? 'set by the Dockerfile' : `${found.portFrom} listens there` };
  const exposed = exposedPort(existing ?? '');
  if (exposed !== null) return { number: exposed, from: `${name} exposes it` };
  const folder = openFolder(cli.folder);
  const stated = given.repository === undefined ? await findPort(folder, await folder.list()) : null;
  if (stated !== null) return { number: stated.port, from: `${stated.from} listens there` };
  const answer = await cli.ask('  On which port does the program listen? ');
  if (answer !== null && /^\d{1,5}$/.test(answer)) return { number: Number(answer), from: 'as you say' };
  throw misused('On which port does the program listen?', 'davit up --port 8080, or --no-port if on none');
}

function showPlan(cli: Cli, { name, project, environment, clusterName, port, dockerfile, found, repository }: Plan): void {
  const { out } = cli;
  const kind =
    found === null
      ? ''
      : ` ${found.language}${found.version === null ? '' : ` ${found.version}`} found (${found.because}), no Dockerfile.`;
  out.talk(`  ${name} is new here.${kind}`);
  out.talk();
  const line = (title: string, text: string, note: string): void =>
    out.talk(`  ${title.padEnd(12)} ${text.padEnd(24)} ${note === '' ? '' : out.style('grey', `(${note})`)}`.trimEnd());
  line('Project', nameOf(project), isNew(project));
  line('Environment', `${nameOf(environment)} on ${clusterName}`, isNew(environment));
  line('Port', port === null ? 'none' : String(port.number), port?.from ?? '');
  if (repository !== null) line('Repository', repository.url, `branch ${repository.branch}`);
  const lines = dockerfile.text?.split('\n').length ?? 0;
  if (dockerfile.text !== null) line('Dockerfile', `${plural(lines - 1, 'line')}, written`, 'have a look and commit it');
  out.talk();
}

const nameOf = (record: Named | string): string => (typeof record === 'string' ? record : record.name);
const isNew = (record: Named | string): string => (typeof record === 'string' ? 'new' : '');

async function consent(cli: Cli): Promise<void> {
  const answer = await cli.ask('  Deploy it? [Y/n] ');
  if (answer === null) throw misused('Nobody can be asked here.', 'davit up --yes');
  if (!/^(y(es)?)?$/i.test(answer)) throw new CliError('Nothing was changed.', { exitCode: exitCodes.declined });
}

/** Writes the Dockerfile and makes what is missing, in this order: what exists already is used. */
async function carryOut(cli: Cli, session: Session, plan: Plan, links: boolean): Promise<Application> {
  const { client } = session;
  if (plan.dockerfile.text !== null && plan.found !== null) {
    await writeFile(path.join(cli.folder, plan.dockerfile.name), plan.dockerfile.text, { flag: 'wx' });
    const ignore = dockerignoreFor(plan.found);
    const file = path.join(cli.folder, '.dockerignore');
    if ((await stat(file).catch(() => null)) === null) await writeFile(file, ignore, { flag: 'wx' });
  }
  const organization = plan.organization ?? (await client.call('createOrganization', { body: { name: 'My organization' } }));
  const params = { organizationId: organization.id };
  const project =
    typeof plan.project === 'string'
      ? await client.call('createProject', { params, body: { name: plan.project } })
      : plan.project;
  const environment = typeof plan.environment === 'string' ? await makeEnvironment(session, project.id, plan) : plan.environment;
  const site: Site = { ...session, location: { organization, project, environment } };
  const service = await makeService(site, plan);
  if (session.name !== null && links) await linkFolder(cli, site, service);
  return { site, service, isPushed: plan.repository === null };
}

function makeEnvironment({ client }: Session, projectId: string, { environment, clusterId }: Plan) {
  const name = nameOf(environment);
  const mode = /^prod/i.test(name) ? 'PRODUCTION' : /^stag/i.test(name) ? 'STAGING' : 'DEVELOPMENT';
  return client.call('createEnvironment', { params: { projectId }, body: { name, mode, cluster_id: clusterId } });
}

async function makeService(site: Site, plan: Plan): Promise<ServiceReference> {
  const params = { environmentId: site.location.environment.id };
  const existing = named((await site.client.call('listServicesByEnvironmentId', { params })).results, plan.name);
  if (existing !== undefined) {
    if (!isPushed(existing) || plan.repository !== null) {
      throw misused(
        `There is a service ${existing.name} already, which does not come from a folder.`,
        'Choose another name: davit up --name NAME',
      );
    }
    return { id: existing.id, name: existing.name, type: existing.service_type };
  }
  const ports =
    plan.port === null ? [] : [{ internal_port: plan.port.number, publicly_accessible: true, protocol: 'HTTP' as const }];
  const body = {
    name: plan.name,
    git_repository: plan.repository ?? {
      // Davit keeps the repository itself.
      url: 'davit:',
      branch,
    },
    dockerfile_path: plan.dockerfile.name,
    ports,
    healthchecks: {},
  };
  const { id, name } = await site.client.call('createApplication', { params, body });
  return { id, name, type: 'APPLICATION' };
}

/** Returns the address of the repository that Davit keeps for a service, by the names or ids that lead to it. */
function repositoryUrl(server: string, names: readonly [project: string, environment: string, service: string]): string {
  return `${server}/git/${names.map(encodeURIComponent).join('/')}.git`;
}

/** Sends the folder, follows its deployment and prints the address. */
async function send(cli: Cli, session: Session, application: Application, given: UpFlags): Promise<ExitCode> {
  const { out } = cli;
  const { site, service, isPushed } = application;
  announce(cli, site.location);
  if (!isPushed) return deploy(cli, site, service, given);
  const snapshots = new Snapshots(cli.folder, cacheFolder(cli), `${session.context.server} ${service.id}`);
  const snapshot = await snapshots.take();
  for (const name of snapshot.submodules) {
    out.talk(`  ${out.mark('warn')} ${name} is a repository of its own (a submodule) and was left out.`);
  }
  for (const name of snapshot.secrets) {
    out.talk(`  ${out.mark('warn')} ${name} is sent and becomes part of the image: name it in .dockerignore if it has secrets.`);
  }
  if (snapshot.files === 0)
    throw misused('There is no file to send: the folder is empty, or .gitignore or .dockerignore names all its files.');
  if (snapshot.changedFiles !== null) {
    const what = snapshot.changedFiles === 0 ? 'No file' : plural(snapshot.changedFiles, 'file');
    out.talk(`  ${what} changed since the last deployment`);
  }
  const { project, environment } = site.location;
  const url = repositoryUrl(site.context.server, [project.id, environment.id, service.id]);
  const target = { url, branch, token: site.context.token };
  if (snapshot.changedFiles === 0) {
    if (await snapshots.isLatest({ ...target, signal: new AbortController().signal })) return deploy(cli, site, service, given);
    out.talk('  Somebody has sent other files since: those of this folder are sent again');
  }
  return push(cli, application, { snapshots, snapshot, given, target });
}

interface Sending {
  readonly snapshots: Snapshots;
  readonly snapshot: Snapshot;
  readonly given: UpFlags;
  readonly target: Omit<Remote, 'signal' | 'onTalk'>;
}

async function push(cli: Cli, { site, service }: Application, sending: Sending): Promise<ExitCode> {
  const { snapshots, snapshot, given, target } = sending;
  const { organization } = site.location;
  const watch = new DeploymentWatch(site.client, { organizationId: organization.id, serviceId: service.id });
  const leave = new AbortController();
  try {
    await watch.opened;
    const onTalk = sentReporter(cli, snapshot);
    const pushing = snapshots.push(snapshot, { ...target, signal: leave.signal, onTalk });
    const pushed = pushing.then(
      () => undefined,
      (error: unknown) => {
        throw pushFailed(error, target.url);
      },
    );
    // The push lasts until the deployment has ended: the deployment is followed meanwhile.
    const requestId = await Promise.race([watch.found, pushed.then(() => watch.soon())]);
    if (requestId === null) return await deploy(cli, site, service, given);
    await snapshots.rememberPushed();
    // A failure of the push after that is one of the deployment, which is reported with its cause.
    const [code] = await Promise.all([
      followDeployment(cli, site, requestId, given),
      given.detach ? undefined : pushed.catch(() => undefined),
    ]);
    return code;
  } finally {
    watch.close();
    leave.abort();
  }
}

/** Returns a reader of what git says during a push. It reports once that the server has all files. */
function sentReporter({ out }: Cli, { bytes }: Snapshot): (text: string) => void {
  const begun = performance.now();
  let isSent = false;
  return (text) => {
    if (isSent || !text.includes('remote: Deploying')) return;
    isSent = true;
    out.talk(`  ${out.mark('ok')} Sent  ${size(bytes)} in ${duration(performance.now() - begun)}`);
  };
}

async function deploy(cli: Cli, site: Site, service: ServiceReference, given: UpFlags): Promise<ExitCode> {
  const params = { environmentId: site.location.environment.id };
  const { deployment_request_id: id } = await site.client.call('deployAllServices', { params, body: deployBody([service], {}) });
  return followDeployment(cli, site, id, given);
}

function pushFailed(error: unknown, url: string): CliError {
  const message = messageOf(error);
  const isOld = /not found|404/.test(message);
  const advice = isOld ? ['This server may be too old to take pushes.'] : [];
  return new CliError(`The folder could not be sent to ${url}:\n${message}`, { advice });
}

function cacheFolder({ environment }: Cli): string {
  const { XDG_CACHE_HOME: folder = '', HOME: home = homedir() } = environment;
  return path.join(folder === '' ? path.join(home, '.cache') : folder, 'davit', 'up');
}
