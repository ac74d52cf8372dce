import type { VNode } from 'preact';
import { IconButton } from './icon_button.tsx';
import { toast } from './toast.tsx';

/** Copies a text. `what` names it: "Copy event id". */
export function CopyButton({ text, what }: { text: string; what: string }): VNode {
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => toast(`Copied the ${what}`),
      () => toast('The browser did not let it be copied', 'bad'),
    );
  };
  return <IconButton icon="copy" label={`Copy ${what}`} onClick={copy} />;
}
