export { mountWebhook } from './routes.ts';
export { trimDeliveries } from './webhook.ts';
export { tellDeployment, type Turn } from './outbox.ts';
export { WebhookDeliverer } from './deliverer.ts';
