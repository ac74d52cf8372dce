import type { VNode } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface IconButtonProps {
  icon: IconName;
  /** What the button does: read out, and shown to the pointer. */
  label: string;
  isSmall?: boolean;
  disabled?: boolean;
  onClick(): void;
}

/** A button that shows an icon alone. The icon's name is also in `data-name`, where the focus is moved to the same button of another row. */
export function IconButton({ icon, label, isSmall = false, disabled = false, onClick }: IconButtonProps): VNode {
  return (
    <button
      type="button"
      class={isSmall ? 'button icon-only small' : 'button icon-only'}
      data-name={icon}
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
