import { resolveBatch } from '../own_script.ts';
import { impersonal } from '../redact.ts';
import type { PartHost, Properties } from '../types.ts';

resolveBatch(
  ({ config }: PartHost) =>
    (properties: Properties) =>
      impersonal(properties, config.tag?.hash_routes),
);
