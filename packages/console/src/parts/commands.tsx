import type { ReactNode } from 'react';
import { Box } from './page.tsx';
import { CopyButton } from './once.tsx';

interface CommandsProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly lines: readonly string[];
}

/** Commands for a terminal, a line each, which are copied together. */
export function Commands({ title, children, lines }: CommandsProps): ReactNode {
  const text = lines.join('\n');
  return (
    <Box title={title}>
      <div className="grid gap-3 p-4">
        <p className="text-muted">{children}</p>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard */}
        <pre className="seen" tabIndex={0} aria-label={title}>
          {text}
        </pre>
        <CopyButton text={text} words="Copy the commands" />
      </div>
    </Box>
  );
}
