import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useState, type ReactNode } from 'react';
import { plainText } from '../ansi.ts';
import { newSince, useServiceLog } from '../data/service-log.ts';
import { Button } from '../parts/button.tsx';
import { Face, FailedFace } from '../parts/face.tsx';
import { Icon } from '../parts/icon.tsx';
import { LogLines, type LogLine } from '../parts/log-lines.tsx';
import { plural } from '../words.ts';

/** The output of a service, live. What is searched for and how it is shown is in the address. */
export function LogsPage(): ReactNode {
  const { serviceId = '' } = useParams({ strict: false });
  const { find = '', wrap = false } = useSearch({ strict: false });
  const navigate = useNavigate();
  const log = useServiceLog(serviceId);
  const [paused, pause] = useState<readonly LogLine[] | null>(null);
  const wanted = useDeferredValue(find.toLowerCase());
  const all = paused ?? log.lines;
  const shown = useMemo(
    () => (wanted === '' ? all : all.filter(({ text }) => plainText(text).toLowerCase().includes(wanted))),
    [all, wanted],
  );
  const search = (change: { find?: string; wrap?: boolean }): void => {
    void navigate({ to: '.', search: { find, wrap, ...change }, replace: true });
  };
  const waiting = paused === null ? 0 : newSince(log.lines, paused.at(-1));
  return (
    <>
      <div className="toolbar">
        <div className="field flex-1 basis-64">
          <Icon name="search" />
          <input
            type="search"
            aria-label="Search the loaded lines"
            placeholder="Search the loaded lines"
            value={find}
            onChange={({ target }) => search({ find: target.value })}
          />
          <span className="hint" role="status">
            {find === '' ? plural(all.length, 'line') : `${shown.length.toLocaleString('en')} of ${plural(all.length, 'line')}`}
          </span>
        </div>
        <Button isPressed={wrap} onClick={() => search({ wrap: !wrap })}>
          Wrap
        </Button>
        <Button icon={paused === null ? 'pause' : 'play'} onClick={() => pause(paused === null ? log.lines : null)}>
          {paused === null ? 'Pause' : `Continue${waiting > 0 ? `, ${plural(waiting, 'new line')}` : ''}`}
        </Button>
        <Button icon="download" onClick={() => download(all)}>
          Download
        </Button>
      </div>
      <div className="box">
        {log.error !== null && <FailedFace error={log.error} />}
        {log.error === null && shown.length === 0 && <NoLines isReady={log.isReady} isSearch={find !== ''} />}
        {shown.length > 0 && (
          <LogLines
            lines={shown}
            label="Output of the service"
            doesWrap={wrap}
            doesFollow={paused === null}
            find={wanted}
            onEnd={(isAtEnd) => {
              if (!isAtEnd && paused === null) pause(log.lines);
            }}
          />
        )}
      </div>
    </>
  );
}

function NoLines({ isReady, isSearch }: { readonly isReady: boolean; readonly isSearch: boolean }): ReactNode {
  if (isSearch) {
    return (
      <Face icon="search" title="No line has this">
        The search looks at the lines that are loaded here.
      </Face>
    );
  }
  return (
    <Face icon="lines" title={isReady ? 'No output yet' : 'Reading the log'}>
      {isReady ? 'What the service prints appears here as it is printed.' : 'The newest 1,000 lines come first.'}
    </Face>
  );
}

function download(lines: readonly LogLine[]): void {
  const text = lines.map(({ at, instance = '', text: line }) => `${at} ${instance} ${plainText(line)}\n`).join('');
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'service.log';
  link.click();
  URL.revokeObjectURL(url);
}
