import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Value of `addr_assign_type` for an address that was set explicitly and that the kernel therefore does not change. */
const isSet = '3';

/**
 * Fixes the current MAC address of a bridge. A Podman bridge takes the lowest address of its ports, so its address
 * changes as instances start and exit. The other instances keep sending to the previous address until their kernels
 * resolve it again, and their responses are lost meanwhile, and the requests with them. Docker sets a fixed address
 * itself.
 *
 * A bridge that is not on this machine (rootless Podman, or an engine in a virtual machine) is left unchanged: its
 * instances are reached through ports of the host. If the machine has no `ip` command, the bridge at least announces
 * its changes.
 */
export async function keepAddress(bridge: string): Promise<void> {
  const folder = `/sys/class/net/${bridge}`;
  try {
    if ((await readFile(`${folder}/addr_assign_type`, 'utf8')).trim() === isSet) return;
    const address = (await readFile(`${folder}/address`, 'utf8')).trim();
    await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/arp_notify`, '1');
    await run('ip', ['link', 'set', 'dev', bridge, 'address', address]);
  } catch {
    // The bridge does not exist here, or this process may not change it.
  }
}
