export { platformMigrations } from './migrations.js';
