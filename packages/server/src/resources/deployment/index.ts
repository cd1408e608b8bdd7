export { mountDeployment } from './routes.ts';
export { environmentStatus } from './status.ts';
export { startStopped, stopRunning } from './turn.ts';
