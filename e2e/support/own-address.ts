import { networkInterfaces } from 'node:os';

/** Returns an address of this machine that pods can use. In a pod, 127.0.0.1 is the pod itself. */
export function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (found === undefined) throw new Error('this machine has no address but 127.0.0.1');
  return found.address;
}
