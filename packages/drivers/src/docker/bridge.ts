import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** `addr_assign_type` of an address that somebody has set, and that the kernel therefore leaves as it is. */
const isSet = '3';

/**
 * Lets a bridge keep the address that it has. Podman's take the lowest one of their ports, so that it changes as instances come
 * and go; the others go on sending to the former one until their kernels look again, and what they answer meanwhile is lost, the
 * requests with it. Docker sets one. A bridge that is not here (of rootless Podman, or of an engine in a virtual machine) stays as
 * it is: its instances are reached by ports of the host. Where the machine has no `ip`, the bridge at least tells of its changes.
 */
export async function keepAddress(bridge: string): Promise<void> {
  const folder = `/sys/class/net/${bridge}`;
  try {
    if ((await readFile(`${folder}/addr_assign_type`, 'utf8')).trim() === isSet) return;
    const address = (await readFile(`${folder}/address`, 'utf8')).trim();
    await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/arp_notify`, '1');
    await run('ip', ['link', 'set', 'dev', bridge, 'address', address]);
  } catch {
    // Not there, or not ours to change.
  }
}
