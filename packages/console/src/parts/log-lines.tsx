import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useRef, type ReactNode } from 'react';
import { piecesOf } from '../ansi.ts';
import { fullTime, timeOfDay } from '../time.ts';
import type { LineLook } from '../words.ts';

export interface LogLine {
  readonly id: string;
  readonly at: string;
  readonly text: string;
  readonly level: LineLook;
  /** The instance that printed the line; left out where there is only one source. */
  readonly instance?: string;
}

interface LogLinesProps {
  readonly lines: readonly LogLine[];
  readonly label: string;
  readonly doesWrap?: boolean;
  /** Whether the list stays at its end when lines are added. */
  readonly doesFollow?: boolean;
  /** A list that is as high as its lines, up to a limit. */
  readonly isShort?: boolean;
  readonly find?: string;
  /** Called when the reader scrolls away from the end, and back to it. */
  readonly onEnd?: (isAtEnd: boolean) => void;
}

const lineHeight = 19;
/** Characters of an instance's name; instances differ in the end of their names. */
const longestInstance = 16;
/** Pixels from the end within which the reader counts as being at the end. */
const tolerance = 24;

/** Lines of a log. Only those in view are in the page, so that a hundred thousand of them scroll as fast as ten. */
export function LogLines({ lines, label, doesWrap, doesFollow, isShort, find = '', onEnd }: LogLinesProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => lineHeight,
    getItemKey: (index) => lines[index]?.id ?? index,
    overscan: 20,
    paddingStart: 6,
    paddingEnd: 6,
  });
  const measured = useRef(list);
  measured.current = list;
  useEffect(() => measured.current.measure(), [doesWrap]);
  const size = list.getTotalSize();
  useEffect(() => {
    if (doesFollow === true && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [doesFollow, size, lines.length]);
  const items = list.getVirtualItems();
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard
    <div
      ref={box}
      className={`lines ${doesWrap === true ? 'wrap' : ''} ${isShort === true ? 'short' : ''}`}
      role="log"
      aria-live="off"
      aria-label={label}
      tabIndex={0}
      onWheel={() => requestAnimationFrame(() => onEnd?.(isAtEnd(box.current)))}
      onTouchMove={() => onEnd?.(isAtEnd(box.current))}
      onKeyUp={() => onEnd?.(isAtEnd(box.current))}
    >
      <div style={{ height: size, position: 'relative' }}>
        <div style={{ transform: `translateY(${(items[0]?.start ?? 6) - 6}px)`, paddingTop: 6 }}>
          {items.map(({ index, key }) => {
            const line = lines[index];
            if (line === undefined) return null;
            return (
              <div key={key} data-index={index} {...(doesWrap === true && { ref: list.measureElement })}>
                <Line line={line} find={find} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function isAtEnd(box: HTMLDivElement | null): boolean {
  return box === null || box.scrollHeight - box.scrollTop - box.clientHeight < tolerance;
}

const Line = memo(function Line({ line, find }: { readonly line: LogLine; readonly find: string }): ReactNode {
  const { at, text, level, instance } = line;
  return (
    <div className={`line ${level} ${instance === undefined ? 'two' : ''}`}>
      <time dateTime={at} title={fullTime(at)}>
        {timeOfDay(at)}
        {instance !== undefined && <span className="max-[760px]:hidden">{/\.\d{3}/.exec(at)?.[0]}</span>}
      </time>
      {instance !== undefined && (
        <span className="i" title={instance}>
          {instance.length > longestInstance ? `…${instance.slice(1 - longestInstance)}` : instance}
        </span>
      )}
      <span className="m">
        {piecesOf(text).map(({ text: piece, className }, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- the pieces have no identity beside their place
          <span key={index} className={className}>
            {find === '' ? piece : marked(piece, find)}
          </span>
        ))}
      </span>
    </div>
  );
});

/** Returns the text with each occurrence of what was searched for marked. */
function marked(text: string, find: string): ReactNode {
  const lower = text.toLowerCase();
  const wanted = find.toLowerCase();
  const parts: ReactNode[] = [];
  let at = 0;
  for (let hit = lower.indexOf(wanted); hit !== -1; hit = lower.indexOf(wanted, at)) {
    parts.push(text.slice(at, hit), <mark key={hit}>{text.slice(hit, hit + wanted.length)}</mark>);
    at = hit + wanted.length;
  }
  parts.push(text.slice(at));
  return parts;
}
