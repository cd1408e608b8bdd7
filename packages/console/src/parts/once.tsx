import { useState, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** Copies a text, and says that it did. Where the browser refuses, the text is selected to be copied by hand. */
export function CopyButton({ text, words = 'Copy' }: { readonly text: string; readonly words?: string }): ReactNode {
  const [outcome, setOutcome] = useState<string | null>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('Copied');
    } catch {
      // Pages from plain http on other machines have no clipboard.
      setOutcome('Select the text and copy it: this page may not.');
    }
  };
  return (
    <span className="copy">
      <Button isSmall onClick={() => void copy()}>
        {words}
      </Button>
      <span className="under" role="status">
        {outcome}
      </span>
    </span>
  );
}

interface OnceProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly text: string;
  readonly onClose: () => void;
}

/** Shows a text that is shown only now: a token, a link, recovery codes. */
export function Once({ title, children, text, onClose }: OnceProps): ReactNode {
  return (
    <Dialog label={title} onClose={onClose} isSticky>
      <div className="in form">
        <h2>{title}</h2>
        <p className="text-muted">{children}</p>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard */}
        <pre className="seen once" tabIndex={0}>
          {text}
        </pre>
        <div className="do">
          <CopyButton text={text} />
          <Button look="main" onClick={onClose}>
            I have stored it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
