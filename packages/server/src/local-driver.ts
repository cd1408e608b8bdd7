/** The `driver` of this machine's container engine. Other clusters have their id as driver. */
export const localDriver = 'docker';

/** Returns whether a driver is this machine's container engine. Davit's own gateway serves the routes on it. */
export function isLocalDriver(driver: string): boolean {
  return driver === localDriver;
}
