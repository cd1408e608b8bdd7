/**
 * Returns under which addresses git fetches submodules whose URLs in `.gitmodules` are for SSH (`git@host:…`,
 * `ssh://…`) or for git's own protocol, neither of which Davit speaks: the beginning of the URL as written, and what
 * takes its place. Git hosts serve the same paths over https. `origin`: that of the repository, for submodules on its
 * host; '' for a local repository. At most 100 addresses are replaced, because each costs a process. Pure.
 */
export function replacedAddresses(modules: string, origin: string): ReadonlyMap<string, string> {
  const own = URL.canParse(origin) ? new URL(origin) : null;
  const replaced = new Map<string, string>();
  for (const [, written = ''] of modules.matchAll(/^\s*url\s*=\s*"?([^\s"]+)/gim)) {
    const match = scp.exec(written) ?? remote.exec(written);
    if (match === null || replaced.size >= mostAddresses) continue;
    const [beginning = '', host = ''] = match;
    replaced.set(beginning, host.toLowerCase() === own?.hostname ? `${own.origin}/` : `https://${host}/`);
  }
  return replaced;
}

const mostAddresses = 100;
// A word that begins with `-` would be an option of git.
const scp = /^\w[\w.-]*@(\w[\w.-]*):(?!\/\/)\/?/;
const remote = /^(?:ssh|git):\/\/(?:\w[\w.-]*@)?(\w[\w.-]*)(?::\d+)?\//i;
