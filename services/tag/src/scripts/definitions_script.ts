import { startDefinitions } from '../fire_definitions.ts';
import { resolveBatch } from '../own_script.ts';
import type { PartHost } from '../types.ts';

resolveBatch((host: PartHost) => startDefinitions(host.config.events, host));
