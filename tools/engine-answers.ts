import { request } from 'node:http';

// Exits with 0 if a container engine is reachable at one of the addresses where Davit looks for one, else with 1. The
// program imports only modules of Node, as it runs before anything else is known to work.

const answerWithinMilliseconds = 3_000;
const runtimeFolder = process.env['XDG_RUNTIME_DIR'];
const named = process.env['DOCKER_HOST'];
const sockets = [
  '/var/run/docker.sock',
  ...(runtimeFolder === undefined ? [] : [`${runtimeFolder}/docker.sock`, `${runtimeFolder}/podman/podman.sock`]),
  '/run/podman/podman.sock',
];
// An engine in DOCKER_HOST is always used. If it is unreachable, its first use reports the error.
if (named !== undefined && named !== '') process.exit(0);
const answers = await Promise.all(sockets.map(isAnswering));
process.exitCode = answers.includes(true) ? 0 : 1;

function isAnswering(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const ping = request({ socketPath, path: '/_ping', timeout: answerWithinMilliseconds }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    ping.once('timeout', () => ping.destroy());
    ping.once('error', () => resolve(false));
    ping.end();
  });
}
