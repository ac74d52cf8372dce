import { resolveBatch } from '../own_script.ts';
import { impersonal } from '../redact.ts';

resolveBatch(() => impersonal);
