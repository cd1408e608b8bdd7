export { readUses, refuseUsed, toAssociatedItem, toAssociatedService } from './service-use.ts';
