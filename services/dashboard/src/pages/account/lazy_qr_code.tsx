import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface CodeProps {
  text: string;
  label: string;
}

/** A QR code whose code is fetched with it. Where that fails there is none: the text stands beside it. */
export function LazyQrCode(props: CodeProps): VNode {
  const [Code, setCode] = useState<ComponentType<CodeProps> | null>(null);
  useEffect(() => {
    import('./qr_code.tsx').then(
      (module) => setCode(() => module.default),
      () => undefined,
    );
  }, []);
  return Code === null ? <div class="qr-code" /> : <Code {...props} />;
}
