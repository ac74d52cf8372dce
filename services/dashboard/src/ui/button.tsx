import type { VNode } from 'preact';
import { Icon, type IconName } from './icon.tsx';

/** How a button looks; null: like most. */
export type ButtonKind =
  | ('primary' | 'danger' | 'small' | 'wide' | 'small danger' | 'small quiet' | 'quiet wide' | 'primary wide')
  | null;

interface ButtonProps {
  label: string;
  icon?: IconName;
  kind?: ButtonKind;
  type?: 'button' | 'submit';
  disabled?: boolean;
  /** What those who listen hear in place of the label. */
  'aria-label'?: string;
  'aria-pressed'?: boolean;
  onClick?(): unknown;
}

export function Button({ label, icon, kind = null, type = 'button', ...rest }: ButtonProps): VNode {
  return (
    <button type={type} class={kind === null ? 'button' : `button ${kind}`} {...rest}>
      {icon !== undefined && <Icon name={icon} />}
      {label}
    </button>
  );
}

interface FigureLinkProps {
  text: string;
  label: string;
  /** Left out: there is nothing behind the figure. */
  act: (() => unknown) | undefined;
}

/** A figure that opens what it counts. */
export function FigureLink({ text, label, act }: FigureLinkProps): VNode {
  if (act === undefined) return <>{text}</>;
  return (
    <button type="button" class="figure-link" aria-label={label} onClick={act}>
      {text}
    </button>
  );
}
