/** Whether this process can write: the disk of its state folder (null: it cannot be read), and its log. */
export interface Writing {
  readonly disk: { readonly state: 'ok' | 'low' | 'full'; readonly freeBytes: number; readonly sizeBytes: number } | null;
  readonly log: { readonly dropped: number; readonly failure: string | null };
}

/** Returns the checks that `/readyz?verbose` adds. Paths are left out, since the page needs no token. */
export function writingChecks({ disk, log }: Writing): Record<string, unknown> {
  return {
    state_folder:
      disk === null
        ? { state: 'unknown' }
        : {
            state: disk.state,
            free_bytes: disk.freeBytes,
            ...(disk.state !== 'ok' && { advice: 'free space on the disk of DAVIT_HOME' }),
          },
    log: {
      state: log.failure === null ? 'ok' : 'failing',
      dropped_lines: log.dropped,
      ...(log.failure !== null && { error: log.failure }),
    },
  };
}

/** Returns the checks as metrics in the text format of Prometheus. */
export function writingMetrics({ disk, log }: Writing): string {
  const lines = metric('davit_log_lines_dropped_total', 'counter', [
    "Lines of the server's log that could not be written.",
    log.dropped,
  ]);
  if (disk !== null) {
    lines.push(
      ...metric('davit_state_folder_free_bytes', 'gauge', ['Free space of the disk of the state folder.', disk.freeBytes]),
      ...metric('davit_state_folder_disk_bytes', 'gauge', ['Size of the disk of the state folder.', disk.sizeBytes]),
    );
  }
  return `${lines.join('\n')}\n`;
}

function metric(name: string, type: string, [help, value]: readonly [string, number]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value}`];
}
