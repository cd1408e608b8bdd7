export { mountDeployment } from './routes.ts';
export { deleteEnvironment, requestEnvironment } from './deployment.ts';
export { environmentStatus, environmentWords, lastDeploymentState, wordsOf } from './status.ts';
export { startStopped, stopRunning } from './turn.ts';
