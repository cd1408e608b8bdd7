export { mountWebhook } from './routes.ts';
export { trimDeliveries } from './webhook.ts';
export { addDeploymentEvent, type DeploymentEvent } from './outbox.ts';
export { WebhookDeliverer } from './deliverer.ts';
export { webhookWords } from './words.ts';
