import type { VNode } from 'preact';
import { Icon } from './icon.tsx';
import { toast } from './toast.tsx';

/** Copies a text. `what` names it: "Copy event id". */
export function CopyButton({ text, what }: { text: string; what: string }): VNode {
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => toast(`Copied the ${what}`),
      () => toast('The browser did not let it be copied', 'bad'),
    );
  };
  return (
    <button type="button" class="button icon-only" aria-label={`Copy ${what}`} title={`Copy ${what}`} onClick={copy}>
      <Icon name="copy" />
    </button>
  );
}
