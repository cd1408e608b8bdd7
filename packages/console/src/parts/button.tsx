import { useId, type ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';

interface ButtonProps {
  readonly children: ReactNode;
  readonly onClick?: () => void;
  readonly look?: 'plain' | 'main' | 'danger' | 'quiet';
  readonly icon?: IconName;
  readonly isSmall?: boolean;
  readonly isSubmit?: boolean;
  readonly isPressed?: boolean;
  /** Why the button may not be used: it stays where it is, and says so. */
  readonly refusal?: string | null;
}

/**
 * A button. One that may not be used can still be reached and pressed: it then says why not, also where nothing hovers.
 */
export function Button({
  children,
  onClick,
  look = 'plain',
  icon,
  isSmall,
  isSubmit,
  isPressed,
  refusal,
}: ButtonProps): ReactNode {
  const reasonId = useId();
  const isRefused = refusal !== undefined && refusal !== null;
  return (
    <>
      <button
        type={isSubmit === true && !isRefused ? 'submit' : 'button'}
        className={`button ${look} ${isSmall === true ? 'small' : ''}`}
        onClick={isRefused ? undefined : onClick}
        aria-pressed={isPressed}
        aria-disabled={isRefused ? true : undefined}
        aria-describedby={isRefused ? reasonId : undefined}
        title={isRefused ? refusal : undefined}
        popoverTarget={isRefused ? reasonId : undefined}
      >
        {icon !== undefined && <Icon name={icon} size={14} />}
        {children}
      </button>
      {isRefused && (
        <span id={reasonId} popover="auto" className="menu reason-note">
          {refusal}
        </span>
      )}
    </>
  );
}
