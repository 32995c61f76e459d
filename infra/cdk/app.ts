/**
 * The stack of `../template.yaml` as a CDK app. It includes the template and only replaces the code of
 * the functions with the packages that `make build` created.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack, StackProps, aws_sam as sam } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { Asset } from 'aws-cdk-lib/aws-s3-assets';
import { Construct } from 'constructs';

/** The functions in the template, and the folders of their packages. */
const FUNCTIONS = {
  ApiFunction: 'api',
  SweeperFunction: 'sweeper',
  ExecutorFunction: 'executor',
  ArchiverFunction: 'archiver',
};
export interface MinutehandProps extends StackProps {
  /** Folder with the packages: one folder per function, which contains `bootstrap`. */
  readonly packages: string;
  /** Values of the template's parameters. The others remain parameters of the stack. */
  readonly parameters?: Record<string, string>;
}

export class Minutehand extends Stack {
  /** The included template, to access and change its resources. */
  readonly template: CfnInclude;

  constructor(scope: Construct, id: string, props: MinutehandProps) {
    super(scope, id, props);
    this.template = new CfnInclude(this, 'Template', {
      templateFile: join(__dirname, '..', 'template.yaml'),
      parameters: props.parameters,
    });
    for (const [name, folder] of Object.entries(FUNCTIONS)) {
      const path = join(props.packages, folder);
      if (!existsSync(join(path, 'bootstrap'))) {
        throw new Error(`${path} contains no package: run 'make build' first`);
      }
      const asset = new Asset(this, `${name}Package`, { path });
      const fn = this.template.getResource(name) as sam.CfnFunction;
      fn.codeUri = { bucket: asset.s3BucketName, key: asset.s3ObjectKey };
    }
  }
}

const app = new App();
new Minutehand(app, app.node.tryGetContext('stack') ?? 'minutehand', {
  packages: process.env.MINUTEHAND_PACKAGES ?? join(__dirname, '..', '..', 'target', 'lambda'),
});
