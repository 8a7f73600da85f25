export { Cron } from './cron.js';
export { CronMistake } from './fields.js';
export { Zone } from './zone.js';
