/** Returns an exit code as text. Shells and engines report a signal as 128 plus its number. */
export function describeExit(code: number): string {
  const names: Readonly<Record<number, string>> = { 134: 'SIGABRT', 137: 'SIGKILL', 139: 'SIGSEGV', 143: 'SIGTERM' };
  if (code === 127) return 'code 127 (command not found)';
  if (code === 126) return 'code 126 (command cannot be executed)';
  return names[code] ? `code ${code} (${names[code]})` : `code ${code}`;
}
