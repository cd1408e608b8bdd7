export { mountDeployment } from './routes.ts';
export { environmentStatus, environmentWords } from './status.ts';
export { startStopped, stopRunning } from './turn.ts';
