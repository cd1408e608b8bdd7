import { execFile } from 'node:child_process';
import { access, constants, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '@davit/base';
import {
  causes,
  createImageStore,
  DriverError,
  findProgram,
  hasInitProgram,
  Helm,
  openDockerEngine,
  type DockerEngine,
} from '@davit/drivers';
import { readDatabaseCatalogue } from '../../catalogue/databases.ts';
import { readLifecycleTemplates } from '../../catalogue/lifecycle-templates.ts';
import { readCatalogue } from '../../catalogue/read.ts';
import type { Configuration } from '../../configuration.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const run = promisify(execFile);
const engineTimeoutMilliseconds = 10_000;
const mebibyte = 1024 * 1024;

export async function lookAtConfiguration(config: Configuration): Promise<Finding[]> {
  const found: Finding[] = [];
  const files = [
    () => readCatalogue(config.catalogueFile),
    () => readDatabaseCatalogue(config.databaseCatalogueFile),
    () => readLifecycleTemplates(config.lifecycleTemplatesFile),
  ];
  for (const read of files) {
    try {
      await read();
    } catch (error) {
      found.push(fail(messageOf(error), 'Correct the file; Davit does not start with it.'));
    }
  }
  if (config.unknownVariables.length > 0) {
    const names = config.unknownVariables.join(', ');
    found.push(
      warn(`variables that this version does not know: ${names}`, 'Correct or remove them; docs/operate.md lists all variables.'),
    );
  }
  return found.length === 0 ? [ok('complete')] : found;
}

/** Checks the container engine, and the disk with its images and volumes. */
export async function lookAtEngine(config: Configuration): Promise<Finding[]> {
  if (!config.localEngine) return [ok('none is used (DAVIT_LOCAL_ENGINE)')];
  const signal = AbortSignal.timeout(engineTimeoutMilliseconds);
  try {
    const engine = await openDockerEngine({
      stateFolder: config.stateFolder,
      startsOwn: false,
      signal,
      ...(config.dockerHost === null ? {} : { socket: config.dockerHost }),
    });
    const space = await createImageStore({ ...engine, installation: '' }).space(signal);
    const answer = ok(`${engine.engine} ${engine.version} at ${engine.address}`);
    const init = engine.isLocal && !hasInitProgram(engine.engine) ? [withoutInit(engine.engine)] : [];
    const addresses = config.keepsServiceAddresses && findProgram('nft') === null ? [withoutAddresses] : [];
    const found = [answer, ...slowFindings(engine), ...closedFindings(engine), ...init, ...addresses];
    return space === null ? found : [...found, diskFinding(space, config)];
  } catch (error) {
    const none = 'There is no container engine: no socket of Docker or Podman answers.';
    if (config.dockerHost === null && findProgram('podman') !== null)
      return [warn(none, 'davit serve starts a Podman service of its own.')];
    const hint = error instanceof DriverError && error.hint !== causes.ENGINE_UNREACHABLE ? error.hint : null;
    const advice = 'Start it (for example `systemctl start docker`), or set DOCKER_HOST to where it listens.';
    return [fail(messageOf(error), hint ?? advice)];
  }
}

const withoutAddresses = warn(
  'nft is missing: names of services inside an environment lead to instances, whose addresses change with each deployment',
  'Install it (on Debian and Ubuntu: apt-get install nftables conntrack), then restart davit.',
);

function withoutInit(engine: 'docker' | 'podman'): Finding {
  const [program, name] = engine === 'docker' ? ['docker-init', 'tini'] : ['catatonit', 'catatonit'];
  return warn(
    `${engine} has no init program (${program}): in instances nothing reaps processes that end after their parent`,
    `Install it (on Debian and Ubuntu: apt-get install ${name}), then restart the engine and davit.`,
  );
}

/** Returns a warning if the storage driver makes the engine slow. */
function slowFindings({ storage }: Pick<DockerEngine, 'storage'>): Finding[] {
  if (storage !== 'vfs') return [];
  const words =
    'the engine uses the storage driver vfs, which copies all files for each layer and each instance: it is slow and needs much disk';
  const advice =
    'Without root, install fuse-overlayfs (or use a kernel from 5.13 on), then reset the storage of the engine: `podman system reset`.';
  return [warn(words, advice)];
}

/** Checks whether Davit can isolate environments from each other, see docs/operate.md, "What containers reach". */
function closedFindings({ engine, isLocal }: Pick<DockerEngine, 'engine' | 'isLocal'>): Finding[] {
  const isHeld = isLocal && process.getuid?.() === 0 && findProgram('iptables') !== null;
  if (isHeld || engine === 'docker') return [];
  const words = 'environments are isolated from each other only as far as Podman does it';
  return [warn(words, 'Run Davit as root with iptables installed; docs/operate.md, "What containers reach".')];
}

export async function lookAtStateFolder(config: Configuration): Promise<Finding[]> {
  const folder = config.stateFolder;
  const there = await stat(folder).catch(() => null);
  // The first start creates the folder; until then the parent folder is checked.
  const requested = there === null ? path.dirname(folder) : folder;
  if (there !== null && !there.isDirectory()) return [fail(`${folder} is not a folder`, 'Set DAVIT_HOME to a folder.')];
  try {
    await access(requested, constants.W_OK | constants.X_OK);
  } catch (error) {
    return [
      fail(`${requested} cannot be written: ${messageOf(error)}`, 'Make the user that runs Davit its owner, or set DAVIT_HOME.'),
    ];
  }
  const { bavail, bsize } = await statfs(requested);
  return [diskFinding({ folder: requested, freeBytes: bavail * bsize }, config)];
}

function diskFinding({ folder, freeBytes }: { folder: string; freeBytes: number }, { minFreeDiskMiB }: Configuration): Finding {
  const words = `${(freeBytes / 1024 / mebibyte).toFixed(1)} GiB free at ${folder}`;
  const least = minFreeDiskMiB * mebibyte;
  const advice = 'Free space there; davit disk shows what Davit keeps.';
  if (freeBytes < least) return fail(`only ${words}: below the ${minFreeDiskMiB} MiB of DAVIT_LEAST_FREE_DISK_MIB`, advice);
  return freeBytes < 2 * least ? warn(`${words}: images for rollbacks are removed`, advice) : ok(words);
}

/** Checks the programs that Davit runs. */
export async function lookAtPrograms(config: Configuration): Promise<Finding[]> {
  const wanted: readonly (readonly [string | null, string])[] = [
    ['git', 'Install git (on Debian and Ubuntu: apt-get install git).'],
    [config.terraformProgram, 'Install Terraform, or correct DAVIT_TERRAFORM_PROGRAM.'],
    [config.tofuProgram, 'Install OpenTofu, or correct DAVIT_TOFU_PROGRAM.'],
  ];
  const found = await Promise.all(
    wanted.flatMap(([program, advice]) => (program === null ? [] : [lookAtProgram(program, advice)])),
  );
  return [...found, await lookAtHelm(config)];
}

/** Checks Helm. It is needed for charts only, so its absence is a failure only if DAVIT_HELM names it. */
async function lookAtHelm({ helmProgram }: Configuration): Promise<Finding> {
  const version = await new Helm(helmProgram ?? 'helm').version();
  if (version !== null) return ok(`Helm ${version}`);
  if (helmProgram === null) return ok('no Helm 4 found as helm: charts cannot be deployed (DAVIT_HELM)');
  return fail(`no Helm 4 found as ${helmProgram}`, 'Install Helm 4, or correct DAVIT_HELM.');
}

async function lookAtProgram(program: string, advice: string): Promise<Finding> {
  try {
    const { stdout } = await run(program, ['--version'], { timeout: engineTimeoutMilliseconds });
    return ok(stdout.split('\n')[0] ?? program);
  } catch (error) {
    return fail(`${program} cannot be run: ${messageOf(error).split('\n')[0]}`, advice);
  }
}
