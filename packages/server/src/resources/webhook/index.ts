export { mountWebhook } from './routes.ts';
export { trimDeliveries } from './webhook.ts';
export { addDeploymentEvent as tellDeployment, type DeploymentEvent as Turn } from './outbox.ts';
export { WebhookDeliverer } from './deliverer.ts';
