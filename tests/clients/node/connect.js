'use strict';

// Connects azure-arm-scheduler 1.2.0-preview to Minutehand. azure-migration.md shows these lines.

function connect(url, token, subscription) {
  // shown: azure-arm-scheduler 1.2.0-preview
  const { TokenCredentials } = require('ms-rest');
  const SchedulerManagementClient = require('azure-arm-scheduler');

  const client = new SchedulerManagementClient(new TokenCredentials(token), subscription, url);
  // shown: end
  return client;
}

module.exports = { connect };
