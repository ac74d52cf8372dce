import { handOver } from './own_script.ts';
import { impersonal } from './redact.ts';

handOver(() => impersonal);
