import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ensureBaseImage } from './base-image.ts';
import { stopOwnPrograms } from './own-programs.ts';
import { ApiFailure, createApi, type Api } from './up-api.ts';
import { deployHello, findHello, stopHello } from './up-hello.ts';
import { isAnswering, openAddress } from './up-http.ts';
import { ensureRepository } from './up-repository.ts';
import { isServing, startServer, stopServer, type Server } from './up-server.ts';

/* The program that ./up runs once Node.js, the npm packages and an engine are available; see ./up --help. */

const began = performance.now();
const root = path.resolve(import.meta.dirname, '..');
const stateFolder = path.resolve(process.env['DAVIT_HOME'] ?? path.join(root, '.davit'));
const server: Server = {
  address: `http://${process.env['DAVIT_HOST'] ?? '127.0.0.1'}:${process.env['DAVIT_PORT'] ?? '4440'}`,
  stateFolder,
  root,
};

try {
  await (process.argv[2] === 'down' ? down() : up());
} catch (error) {
  // Expected errors explain themselves; other errors are printed with their stack.
  const isExplained = error instanceof ApiFailure || (error instanceof Error && error.cause === undefined);
  console.error(`\ndavit: ${isExplained ? error.message : String(error instanceof Error ? error.stack : error)}`);
  process.exitCode = 1;
}

async function up(): Promise<void> {
  // PostgreSQL runs as the user nobody if this program runs as root, and needs search permission on the folder.
  mkdirSync(stateFolder, { recursive: true, mode: 0o711 });
  // Runs before the server: the first of the two starts the Podman service, and the other one adopts it.
  if (await ensureBaseImage(stateFolder)) say('made the base image of Node.js for the example');
  let printed = (): string => '';
  if (await isServing(server)) say(`Davit is running at ${server.address}`);
  else {
    say('starting Davit');
    printed = await startServer(server);
    say(`Davit answers at ${server.address}`);
  }
  const repository = ensureRepository(
    path.join(root, 'examples', 'hello-node'),
    path.join(stateFolder, 'examples', 'hello-node'),
  );
  say(`example repository: ${repository.folder} at commit ${repository.commit.slice(0, 7)}`);
  const url = await deployHello(signedIn(), repository, say);
  const answer = await openAddress(url);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`
${answer.trim()}

  application   ${url}
  console       ${consoleLine(printed())}
  API           ${server.address} (reference: ${server.address}/docs)
  token         ${tokenFile()}
  command line  ./davit login ${server.address} --token-stdin < ${tokenFile()}
                ./davit status
  log           ${path.join(stateFolder, 'serve.log')}

Ready after ${seconds} s. ./up down stops it; ./davit --help lists the other commands.`);
}

async function down(): Promise<void> {
  if (!(await isAnswering(`${server.address}/healthz`))) return say('Davit is not running');
  const environment = await findHello(signedIn());
  if (environment !== undefined) {
    try {
      await stopHello(signedIn(), environment, say);
    } catch (error) {
      // The server is stopped even if the engine is unreachable.
      say(`the example could not be stopped and may still be running: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  await stopServer(server);
  const left = await stopOwnPrograms(stateFolder);
  if (left > 0) say(`${left} containers of other services keep running, and with them the gateway and the engine`);
  say(`stopped; its data is in ${stateFolder}`);
}

/** Returns the address of the console; as long as nobody has an account, the link that makes the first one. */
function consoleLine(printed: string): string {
  const link = /\S+\/console\/first-run#\S+/.exec(printed)?.[0];
  return link === undefined
    ? `${server.address}/console/`
    : `${link}\n                (creates the first account; valid for 24 hours)`;
}

function tokenFile(): string {
  return path.join(stateFolder, 'admin-token');
}

function signedIn(): Api {
  try {
    return createApi(server.address, readFileSync(tokenFile(), 'utf8').trim());
  } catch {
    throw new Error(
      `a server answers at ${server.address}, but ${tokenFile()} cannot be read: it may be another Davit. Set DAVIT_HOME to its state folder, or DAVIT_PORT to a free port.`,
    );
  }
}

function say(line: string): void {
  console.log(`davit: ${line}`);
}
