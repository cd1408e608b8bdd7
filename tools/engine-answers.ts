import { request } from 'node:http';

// Ends with 0 if a container engine answers where Davit would look for one, else with 1. Imports nothing but Node: it runs
// before anything else is known to work.

const answerWithinMilliseconds = 3_000;
const runtimeFolder = process.env['XDG_RUNTIME_DIR'];
const named = process.env['DOCKER_HOST'];
const sockets = [
  '/var/run/docker.sock',
  ...(runtimeFolder === undefined ? [] : [`${runtimeFolder}/docker.sock`, `${runtimeFolder}/podman/podman.sock`]),
  '/run/podman/podman.sock',
];
// An engine that is named is the one to use; whether it answers is said when it is used.
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
