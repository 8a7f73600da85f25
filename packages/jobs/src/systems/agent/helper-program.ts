import { fileURLToPath } from 'node:url';

/** What an agent starts on its node to serve a system; see helper/main.ts. */
export const SYSTEM_HELPER = fileURLToPath(new URL('./helper/main.js', import.meta.url));
