import { DriverError, type HelmDriver } from '@davit/drivers';

/** Helm driver of a process that deploys no charts. */
export const noHelm: HelmDriver = {
  version: () => Promise.resolve(null),
  open: () => Promise.reject(new DriverError({ cause: 'HELM_UNAVAILABLE', message: 'this process cannot deploy charts' })),
};
