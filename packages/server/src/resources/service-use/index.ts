export { readUses, refuseUsed, toAssociatedItem, toAssociatedService } from './service-use.ts';
export type { ServiceUse } from './store.ts';
